//! Changes of a set of modules: modules come, go, and have other features.

use std::collections::BTreeSet;

use super::source::{Features, ModuleSource, SchemaSource};
use super::statement::Statements;
use crate::error::{DataError, ErrorTag, Errors};

/// A module or submodule to install. It replaces all revisions of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewModule {
    /// The module.
    pub source: ModuleSource,
    /// Whether it only serves for imports.
    pub is_import_only: bool,
}

/// Other features of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureChange {
    /// The module.
    pub module: String,
    /// Features to enable.
    pub enable: Vec<String>,
    /// Features to disable.
    pub disable: Vec<String>,
}

/// A change of the modules of a schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleChange {
    /// Modules to install or update.
    pub install: Vec<NewModule>,
    /// Names of modules that are implemented no more. Their texts stay if others import them.
    pub remove: Vec<String>,
    /// Changes of features.
    pub features: Vec<FeatureChange>,
}

impl ModuleChange {
    /// The modules after the change. They are not compiled.
    ///
    /// # Errors
    /// `data-missing` for modules and features that do not exist; `invalid-value` for a name that occurs twice, and if no
    /// module were left.
    pub fn apply(&self, before: &SchemaSource) -> Result<SchemaSource, Errors> {
        let mut errors = Errors::new();
        let mut source = before.clone();
        let mut implemented = before.implemented();
        self.install(&mut source, &mut implemented, &mut errors);
        self.remove(&mut source, &mut implemented, &mut errors);
        for change in &self.features {
            if let Err(error) = change.apply(&mut source) {
                errors.push(error);
            }
        }
        if implemented.is_empty() {
            errors.push(invalid("the last module cannot be removed"));
        }
        errors.into_result()?;
        source.implement = implemented.into_iter().collect();
        let mut source = source.without_unused();
        source.modules.sort();
        if before.implement.is_empty() && source.implement == source.own_modules() {
            source.implement.clear();
        }
        Ok(source)
    }

    fn install(
        &self,
        source: &mut SchemaSource,
        implemented: &mut BTreeSet<String>,
        errors: &mut Errors,
    ) {
        let mut names = BTreeSet::new();
        for new in &self.install {
            let name = &new.source.name;
            if !names.insert(name) {
                errors.push(invalid(format!("the module “{name}” is installed twice")));
            }
            source.modules.retain(|module| module.name != *name);
            source.modules.push(new.source.clone());
            match new.is_import_only || new.source.is_submodule() {
                true => implemented.remove(name),
                false => implemented.insert(name.clone()),
            };
        }
    }

    fn remove(
        &self,
        source: &mut SchemaSource,
        implemented: &mut BTreeSet<String>,
        errors: &mut Errors,
    ) {
        for name in &self.remove {
            if self.install.iter().any(|new| new.source.name == *name) {
                let message = format!("the module “{name}” is both installed and removed");
                errors.push(invalid(message));
            } else if !implemented.remove(name) {
                errors.push(missing(format!("no module “{name}” is implemented")));
            }
            source.features.remove(name);
        }
    }
}

impl FeatureChange {
    fn apply(&self, source: &mut SchemaSource) -> Result<(), DataError> {
        let Some(defined) = source.defined_features(&self.module) else {
            return Err(missing(format!("there is no module “{}”", self.module)));
        };
        let mut named = self.enable.iter().chain(&self.disable);
        if let Some(unknown) = named.find(|name| !defined.contains(*name)) {
            let message = format!("the module “{}” has no feature “{unknown}”", self.module);
            return Err(missing(message));
        }
        if let Some(both) = self.enable.iter().find(|name| self.disable.contains(name)) {
            let message = format!("the feature “{both}” is both enabled and disabled");
            return Err(invalid(message));
        }
        let before: BTreeSet<String> = match source.features.get(&self.module) {
            Some(Features::Only(names)) => names.iter().cloned().collect(),
            Some(Features::All) | None => defined,
        };
        let mut enabled = before.clone();
        enabled.extend(self.enable.iter().cloned());
        enabled.retain(|name| !self.disable.contains(name));
        if enabled == before {
            return Ok(());
        }
        let features = Features::Only(enabled.into_iter().collect());
        source.features.insert(self.module.clone(), features);
        Ok(())
    }
}

impl SchemaSource {
    /// The names of the modules, without submodules, in order.
    fn own_modules(&self) -> Vec<String> {
        let modules = self.modules.iter().filter(|module| !module.is_submodule());
        let names: BTreeSet<String> = modules.map(|module| module.name.clone()).collect();
        names.into_iter().collect()
    }

    /// The names of the modules to implement.
    fn implemented(&self) -> BTreeSet<String> {
        match self.implement.is_empty() {
            true => self.own_modules().into_iter().collect(),
            false => self.implement.iter().cloned().collect(),
        }
    }

    /// The features that a module and its submodules define; `None` if there is no such module.
    fn defined_features(&self, name: &str) -> Option<BTreeSet<String>> {
        let mut texts = self.texts_of(name);
        if texts.is_empty() {
            return None;
        }
        let belongs = |module: &&ModuleSource| {
            let mut statements = Statements::new(&module.text);
            statements.any(|found| {
                found.depth == 1
                    && found.keyword == "belongs-to"
                    && found.argument.is_some_and(|argument| argument == name)
            })
        };
        let submodules = self.modules.iter().filter(belongs);
        texts.extend(submodules.map(|module| &*module.text));
        let statements = texts.into_iter().flat_map(Statements::new);
        let features = statements.filter(|found| found.depth == 1 && found.keyword == "feature");
        Some(
            features
                .filter_map(|found| found.argument.map(Into::into))
                .collect(),
        )
    }
}

fn invalid(message: impl Into<String>) -> DataError {
    DataError::new(ErrorTag::InvalidValue, message.into())
}

fn missing(message: String) -> DataError {
    DataError::new(ErrorTag::DataMissing, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(text: &str) -> ModuleSource {
        ModuleSource::from_text(text).expect("a module")
    }

    fn new(text: &str) -> NewModule {
        NewModule {
            source: module(text),
            is_import_only: false,
        }
    }

    fn names(source: &SchemaSource) -> Vec<&str> {
        source.modules.iter().map(|module| &*module.name).collect()
    }

    fn stored() -> SchemaSource {
        SchemaSource {
            modules: vec![
                module("module a { import b { prefix b; } feature x; feature y; include s; }"),
                module("module b { }"),
                module("submodule s { belongs-to a { prefix a; } feature z; }"),
            ],
            ..SchemaSource::default()
        }
    }

    #[test]
    fn installed_modules_replace_those_of_the_same_name() {
        let change = ModuleChange {
            install: vec![
                new("module c { }"),
                new("module b { revision 2026-01-01; }"),
            ],
            ..ModuleChange::default()
        };
        let after = change.apply(&stored()).expect("a change");
        assert_eq!(names(&after), ["a", "b", "c", "s"]);
        assert_eq!(after.modules[1].revision.as_deref(), Some("2026-01-01"));
        assert!(after.implement.is_empty(), "all are implemented, as before");
    }

    #[test]
    fn removed_modules_stay_for_imports_only() {
        let remove = |names: &[&str]| {
            let change = ModuleChange {
                remove: names.iter().map(|&name| name.into()).collect(),
                ..ModuleChange::default()
            };
            change.apply(&stored())
        };
        let without_b = remove(&["b"]).expect("a change");
        assert_eq!(names(&without_b), ["a", "b", "s"]);
        assert_eq!(without_b.implement, ["a"]);
        let without_a = remove(&["a"]).expect("a change");
        assert_eq!(names(&without_a), ["b"]);
        assert!(without_a.implement.is_empty());
        assert!(remove(&["a", "b"]).is_err());
        assert!(remove(&["c"]).is_err());
    }

    #[test]
    fn features_of_submodules_are_those_of_the_module() {
        let change = |enable: &[&str], disable: &[&str]| ModuleChange {
            features: vec![FeatureChange {
                module: "a".into(),
                enable: enable.iter().map(|&name| name.into()).collect(),
                disable: disable.iter().map(|&name| name.into()).collect(),
            }],
            ..ModuleChange::default()
        };
        let only = |names: &[&str]| {
            Some(Features::Only(
                names.iter().map(|&name| name.into()).collect(),
            ))
        };
        let after = change(&[], &["y"]).apply(&stored()).expect("a change");
        assert_eq!(after.features.get("a").cloned(), only(&["x", "z"]));
        let again = change(&["y"], &["z"]).apply(&after).expect("a change");
        assert_eq!(again.features.get("a").cloned(), only(&["x", "y"]));
        for wrong in [change(&["w"], &[]), change(&["x"], &["x"])] {
            assert!(wrong.apply(&stored()).is_err());
        }
    }
}
