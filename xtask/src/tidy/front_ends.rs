//! Front ends hold datastores of a session, never those of the store: all of them go the same way through the service.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{ItemUse, UseTree};

use super::report::Report;
use super::source::Source;

/// The files of front ends, and of the command line on a server.
const FRONT_ENDS: &[&str] = &[
    "crates/protocols/src/",
    "crates/cli/src/commands/admin_api.rs",
    "crates/cli/src/commands/datastore_routes.rs",
    "crates/cli/src/commands/schema_and_edit_routes.rs",
    "crates/cli/src/commands/version_routes.rs",
    "crates/cli/src/endpoint/remote",
];

/// What they must not name: the crate, and its item.
const BELOW_THE_SERVICE: &[(&str, &str)] =
    &[("espalier_store", "Tree"), ("espalier_keyspace", "Driver")];

/// Checks one file.
pub fn check(source: &Source, report: &mut Report) {
    let path = source.path.to_string_lossy();
    if FRONT_ENDS.iter().any(|files| path.starts_with(files)) {
        let mut names = Names { source, report };
        names.visit_file(&source.syntax);
    }
}

struct Names<'a> {
    source: &'a Source,
    report: &'a mut Report,
}

impl Names<'_> {
    fn check(&mut self, krate: &str, item: &str, line: usize) {
        if BELOW_THE_SERVICE.contains(&(krate, item)) {
            let message = format!(
                "{krate}::{item} in a front end: use SessionDatastore and Anchor of espalier_service"
            );
            self.report.add(&self.source.path, line, message);
        }
    }

    fn check_use(&mut self, krate: &str, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => self.check_use(krate, &path.tree),
            UseTree::Name(name) => {
                let line = name.span().start().line;
                self.check(krate, &name.ident.to_string(), line);
            }
            UseTree::Rename(name) => {
                let line = name.span().start().line;
                self.check(krate, &name.ident.to_string(), line);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.check_use(krate, tree);
                }
            }
            UseTree::Glob(_) => {}
        }
    }
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if let UseTree::Path(path) = &item.tree {
            self.check_use(&path.ident.to_string(), &path.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path
            .segments
            .iter()
            .map(|part| part.ident.to_string())
            .collect();
        if let [krate, .., item] = &*names {
            self.check(krate, item, path.span().start().line);
        }
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_front_end_names_nothing_below_the_service() {
        let problems = |path: &str, text: &str| {
            let mut report = Report::default();
            let source = Source {
                path: PathBuf::from(path),
                lines: 1,
                syntax: syn::parse_file(text).expect("Rust"),
            };
            check(&source, &mut report);
            report.problems.len()
        };
        let front_end = "crates/protocols/src/restconf/service.rs";
        for (text, expected) in [
            ("use espalier_store::{Datastore, Tree};", 1),
            ("use espalier_store::Tree as Below;", 1),
            ("fn f(of: &espalier_store::Tree) {}", 1),
            ("use espalier_keyspace::Driver;", 1),
            (
                "use espalier_yang::data::DataTree; use espalier_store::Store;",
                0,
            ),
        ] {
            assert_eq!(problems(front_end, text), expected, "{text}");
            assert_eq!(problems("crates/service/src/service.rs", text), 0);
        }
    }
}
