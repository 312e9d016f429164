//! Collects all errors of a set of modules.
//!
//! libyang stops at the first error of a compilation. So the modules are compiled again without the failing one and
//! without the modules that depend on it, which would fail only because it is missing. Compiling each module separately
//! was rejected: a module may refer to nodes that another adds to its imports, and fails alone although the set is
//! valid.

use std::collections::{BTreeMap, BTreeSet};

use super::error::SchemaError;
use super::run::errors_of;
use crate::schema::statement::Statements;
use crate::schema::{ModuleSource, SchemaSource};

/// The maximum number of compilations to find further errors.
pub const FAILURE_ROUNDS_MAX: usize = 16;

/// Completes the errors of the compilation of `names` with the errors that they hide; each error once.
pub(super) fn complete(
    first: Vec<SchemaError>,
    source: &SchemaSource,
    names: &[&str],
) -> Vec<SchemaError> {
    let users = Users::of(source);
    let mut left = names.to_vec();
    let mut errors: Vec<SchemaError> = Vec::new();
    let mut found = first;
    for _ in 0..FAILURE_ROUNDS_MAX {
        let failing = found.iter().map(|error| users.module_of(&error.module));
        let excluded = users.with_users(failing);
        for error in found {
            if !errors.contains(&error) {
                errors.push(error);
            }
        }
        let count = left.len();
        left.retain(|&name| !excluded.contains(name));
        if left.is_empty() || left.len() == count {
            break;
        }
        found = errors_of(source, &left);
    }
    errors
}

/// The dependencies between modules.
struct Users<'s> {
    /// By the name of a module: the modules that import it, and the modules that it deviates.
    users: BTreeMap<String, BTreeSet<String>>,
    /// The main modules of the submodules.
    submodules: BTreeMap<&'s str, String>,
}

impl<'s> Users<'s> {
    fn of(source: &'s SchemaSource) -> Self {
        let mut users = Self {
            users: BTreeMap::new(),
            submodules: BTreeMap::new(),
        };
        for module in &source.modules {
            if let Some(main) = main_module(module) {
                users.submodules.insert(&module.name, main);
            }
        }
        for module in &source.modules {
            users.add(module);
        }
        users
    }

    /// Adds the dependencies of a module or submodule.
    fn add(&mut self, module: &ModuleSource) {
        let name = self.module_of(&module.name).to_owned();
        let mut prefixes: BTreeMap<String, String> = BTreeMap::new();
        let mut import = None;
        for statement in Statements::new(&module.text) {
            let argument = statement.argument.unwrap_or_default();
            match (statement.keyword, statement.depth) {
                ("import", 1) => {
                    let users = self.users.entry(argument.to_string()).or_default();
                    users.insert(name.clone());
                    import = Some(argument.into_owned());
                }
                ("prefix", 2) => {
                    if let Some(imported) = import.take() {
                        prefixes.insert(argument.into_owned(), imported);
                    }
                }
                ("deviation", 1) => {
                    let prefix = argument.trim_start_matches('/').split(':').next();
                    let target = prefix.and_then(|prefix| prefixes.get(prefix));
                    if let Some(target) = target {
                        let users = self.users.entry(name.clone()).or_default();
                        users.insert(target.clone());
                    }
                }
                _ => {}
            }
        }
    }

    /// The main module of a file (`name@revision`) of a module or submodule.
    fn module_of<'a>(&'a self, file: &'a str) -> &'a str {
        let name = file.split('@').next().unwrap_or_default();
        self.submodules.get(name).map_or(name, String::as_str)
    }

    /// Modules, and all modules that depend on them.
    fn with_users<'a>(&'a self, modules: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        let mut open: Vec<&str> = modules.collect();
        while let Some(module) = open.pop() {
            if all.insert(module.to_owned()) {
                let users = self.users.get(module).into_iter().flatten();
                open.extend(users.map(String::as_str));
            }
        }
        all
    }
}

fn main_module(module: &ModuleSource) -> Option<String> {
    if !module.is_submodule() {
        return None;
    }
    let mut statements = Statements::new(&module.text);
    let main = statements.find(|found| found.keyword == "belongs-to")?;
    main.argument.map(Into::into)
}
