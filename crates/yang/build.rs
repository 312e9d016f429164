//! Embeds the IETF modules that come with libyang, so that users need not provide them.
//!
//! The package `libyang5-sys`, pinned by `Cargo.lock`, contains libyang's sources, which contain the modules. Cargo
//! gives the path of the package; the modules are copied to the output folder, and a table of them is written, which
//! `src/standard.rs` includes.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs};

use cargo_metadata::MetadataCommand;

/// The folders with modules in the package, in order of precedence.
const FOLDERS: [&str; 3] = [
    "libyang/modules",
    "libyang/tests/modules/yang",
    "libyang/examples/schema_mount",
];

/// Prefixes of the names of embedded modules: the folders contain test modules too.
const PREFIXES: [&str; 2] = ["ietf-", "iana-"];

/// Further embedded modules: modules of libyang that data may refer to (`default` is the attribute of RFC 6243
/// with-defaults in newer NETCONF).
const NAMES: [&str; 1] = ["default"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../Cargo.lock");
    let package = package_folder()?;
    let output = PathBuf::from(env::var("OUT_DIR")?);
    let mut modules = BTreeMap::new();
    for folder in FOLDERS {
        for entry in fs::read_dir(package.join(folder))? {
            let path = entry?.path();
            if let Some((name, revision)) = name_and_revision(&path) {
                modules.entry((name, revision)).or_insert(path);
            }
        }
    }
    let mut table = String::from("&[\n");
    for ((name, revision), path) in modules {
        let file = format!("{name}@{revision}.yang");
        fs::copy(&path, output.join(&file))?;
        writeln!(
            table,
            "    StandardModule {{ name: {name:?}, revision: {revision:?}, \
             text: include_str!(concat!(env!(\"OUT_DIR\"), \"/{file}\")) }},"
        )?;
    }
    table.push_str("]\n");
    fs::write(output.join("standard_modules.rs"), table)?;
    digest_code()
}

/// Sets a digest of the crate's own source and of its dependency versions: stored compiled schemas only fit the code
/// that made them, and the digest detects every change of that code.
fn digest_code() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src");
    let mut files = vec![PathBuf::from("../../Cargo.lock"), PathBuf::from("build.rs")];
    sources(Path::new("src"), &mut files)?;
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        file.hash(&mut hasher);
        fs::read(&file)?.hash(&mut hasher);
    }
    println!(
        "cargo::rustc-env=ESPALIER_CODE_DIGEST={:016x}",
        hasher.finish()
    );
    Ok(())
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// Parses a file name such as `ietf-ip@2018-02-22.yang`.
fn name_and_revision(path: &Path) -> Option<(String, String)> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".yang")?;
    let (name, revision) = stem.split_once('@')?;
    let is_wanted = PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || NAMES.contains(&name);
    is_wanted.then(|| (name.to_owned(), revision.to_owned()))
}

/// The folder of the package `libyang5-sys`.
fn package_folder() -> Result<PathBuf, Box<dyn Error>> {
    // This build needs only local packages. Cargo may want to inspect packages that only tests need, and would then
    // download them.
    let metadata = describe(&["--offline", "--locked"])
        .or_else(|_| describe(&["--locked"]))
        .or_else(|_| describe(&[]))?;
    let package = metadata
        .packages
        .iter()
        .find(|package| package.name.as_str() == "libyang5-sys")
        .ok_or("libyang5-sys is not among the dependencies")?;
    let manifest = package.manifest_path.as_std_path();
    Ok(manifest.parent().ok_or("no parent")?.to_path_buf())
}

fn describe(options: &[&str]) -> cargo_metadata::Result<cargo_metadata::Metadata> {
    let manifest =
        Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("Cargo.toml");
    let target = env::var("TARGET").unwrap_or_default();
    let mut options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
    options.push(format!("--filter-platform={target}"));
    MetadataCommand::new()
        .manifest_path(manifest)
        .other_options(options)
        .exec()
}
