//! The allowed dependencies between crates. Dependencies point downwards only.

use std::path::Path;

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

use super::report::Report;

/// The crates of this workspace that one crate may depend on.
struct Edges {
    krate: &'static str,
    normal: &'static [&'static str],
    /// Additionally in tests.
    dev: &'static [&'static str],
}

const ALLOWED: &[Edges] = &[
    Edges {
        krate: "espalier-keyspace",
        normal: &[],
        dev: &["espalier-testkit"],
    },
    Edges {
        krate: "espalier-yang",
        normal: &[],
        dev: &["espalier-testkit"],
    },
    Edges {
        krate: "espalier-drivers",
        normal: &["espalier-keyspace"],
        dev: &["espalier-testkit"],
    },
    Edges {
        krate: "espalier-store",
        normal: &["espalier-keyspace", "espalier-yang"],
        dev: &["espalier-drivers", "espalier-testkit"],
    },
    Edges {
        krate: "espalier-stats",
        normal: &["espalier-keyspace"],
        dev: &["espalier-drivers", "espalier-testkit"],
    },
    Edges {
        krate: "espalier-documents",
        normal: &["espalier-keyspace"],
        dev: &["espalier-drivers", "espalier-testkit"],
    },
    Edges {
        krate: "espalier-service",
        // The memory driver: the server's own state has a store in memory.
        normal: &[
            "espalier-drivers",
            "espalier-keyspace",
            "espalier-store",
            "espalier-yang",
        ],
        dev: &["espalier-testkit"],
    },
    Edges {
        krate: "espalier-protocols",
        normal: &[
            "espalier-documents",
            "espalier-service",
            "espalier-stats",
            "espalier-store",
            "espalier-yang",
        ],
        dev: &["espalier-drivers", "espalier-keyspace", "espalier-testkit"],
    },
    Edges {
        krate: "espalier",
        normal: &[
            "espalier-documents",
            "espalier-drivers",
            "espalier-keyspace",
            "espalier-service",
            "espalier-stats",
            "espalier-store",
            "espalier-yang",
        ],
        dev: &["espalier-testkit"],
    },
    Edges {
        krate: "espalier-terminal",
        normal: &[
            "espalier-documents",
            "espalier-drivers",
            "espalier-keyspace",
            "espalier-stats",
            "espalier-store",
            "espalier-yang",
        ],
        dev: &[],
    },
    Edges {
        krate: "espalier-bench",
        normal: &[
            "espalier-documents",
            "espalier-drivers",
            "espalier-keyspace",
            "espalier-stats",
            "espalier-store",
            "espalier-yang",
            "espalier-service",
            "espalier-protocols",
            "espalier-terminal",
        ],
        dev: &[],
    },
    Edges {
        krate: "espalier-cli",
        normal: &[
            "espalier-bench",
            "espalier-documents",
            "espalier-drivers",
            "espalier-keyspace",
            "espalier-stats",
            "espalier-store",
            "espalier-yang",
            "espalier-service",
            "espalier-protocols",
            "espalier-terminal",
        ],
        dev: &["espalier-testkit"],
    },
    Edges {
        krate: "espalier-testkit",
        normal: &["espalier-keyspace", "espalier-yang"],
        dev: &[],
    },
    Edges {
        krate: "xtask",
        normal: &[],
        dev: &[],
    },
];

/// Checks every crate of the workspace.
pub fn check(root: &Path, report: &mut Report) -> Result<(), cargo_metadata::Error> {
    let metadata = MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()?;
    for package in metadata.workspace_packages() {
        check_package(root, package, report);
    }
    Ok(())
}

fn check_package(root: &Path, package: &Package, report: &mut Report) {
    let manifest = package.manifest_path.as_std_path();
    let manifest = manifest.strip_prefix(root).unwrap_or(manifest);
    let Some(edges) = ALLOWED
        .iter()
        .find(|edges| edges.krate == package.name.as_str())
    else {
        let message = "a crate without allowed dependencies: add it to xtask/src/tidy/edges.rs";
        return report.add(manifest, 1, message);
    };
    for dependency in &package.dependencies {
        let name = dependency.name.as_str();
        let ours = ALLOWED.iter().any(|edges| edges.krate == name);
        let allowed = edges.normal.contains(&name)
            || (dependency.kind == DependencyKind::Development && edges.dev.contains(&name));
        if ours && !allowed {
            let message = format!("{} must not depend on {name}", package.name);
            report.add(manifest, 1, message);
        }
    }
}
