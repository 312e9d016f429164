//! The input of a schema compilation.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::statement::Statements;
use crate::standard;

/// The text of one module or submodule (YANG, not YIN). Modules are ordered by their names and revisions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ModuleSource {
    /// Its name.
    pub name: String,
    /// Its latest revision, if any.
    pub revision: Option<String>,
    /// The text.
    pub text: String,
}

impl ModuleSource {
    /// Parses name and latest revision from a text; `None` if it is not a module or submodule.
    pub fn from_text(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        let (name, revision) = {
            let mut statements = Statements::new(&text);
            let first = statements.next()?;
            if !matches!(first.keyword, "module" | "submodule") {
                return None;
            }
            let revisions = statements.filter(|found| found.depth == 1);
            let revision = revisions
                .filter(|found| found.keyword == "revision")
                .filter_map(|found| found.argument)
                .max();
            (first.argument?.into_owned(), revision.map(Into::into))
        };
        Some(Self {
            name,
            revision,
            text,
        })
    }

    /// Its namespace; `None` for a submodule.
    pub fn namespace(&self) -> Option<String> {
        let mut statements = Statements::new(&self.text).filter(|found| found.depth == 1);
        let found = statements.find(|found| found.keyword == "namespace")?;
        found.argument.map(Into::into)
    }

    /// The names of the features that it defines.
    pub fn features(&self) -> Vec<String> {
        let statements = Statements::new(&self.text).filter(|found| found.depth == 1);
        let features = statements.filter(|found| found.keyword == "feature");
        let names = features.filter_map(|found| found.argument);
        names.map(Into::into).collect()
    }

    /// Returns whether it is a submodule.
    pub fn is_submodule(&self) -> bool {
        let first = Statements::new(&self.text).next();
        first.is_some_and(|first| first.keyword == "submodule")
    }
}

/// Whether the text of a module has version 1.1 of the language, else version 1 (RFC 7950 §7.1.2).
pub fn is_yang_1_1(text: &str) -> bool {
    let mut statements = Statements::new(text).filter(|found| found.depth == 1);
    let version = statements.find(|found| found.keyword == "yang-version");
    version.is_some_and(|version| version.argument.as_deref() == Some("1.1"))
}

/// The enabled features of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Features {
    /// All of them.
    #[default]
    All,
    /// These.
    Only(Vec<String>),
}

/// The modules of one schema. Serialisable: the store contains it, so that a store opens without the original files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SchemaSource {
    /// The texts, including those to import from. Missing imports are taken from the standard modules that Espalier
    /// ships.
    pub modules: Vec<ModuleSource>,
    /// The names of the modules to implement; if empty, all of `modules` except submodules.
    pub implement: Vec<String>,
    /// Features by module; a module that is not listed has all features.
    pub features: BTreeMap<String, Features>,
    /// The schemas at mount points (RFC 8528), also at those of mounted modules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<MountSource>,
}

/// The schemas at the mount points of one label (RFC 8528 §3.3). The mounted sources have no mounts of their own: those
/// of the schema with the mount points apply.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MountSource {
    /// The module of the nodes with the mount point.
    pub module: String,
    /// The label: the argument of `yangmnt:mount-point`.
    pub label: String,
    /// The mounted schemas.
    pub schemas: MountedSchemas,
}

impl MountedSchemas {
    /// All schemas.
    pub fn all(&self) -> impl Iterator<Item = &SchemaSource> {
        let (shared, inline) = match self {
            Self::Shared { schema, .. } => (Some(schema), None),
            Self::Inline { schemas, .. } => (None, Some(schemas.values())),
        };
        shared.into_iter().chain(inline.into_iter().flatten())
    }
}

/// The schemas of all instances of a mount point.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MountedSchemas {
    /// `shared-schema`: all instances have the same.
    Shared {
        /// Its modules.
        schema: SchemaSource,
        /// `parent-reference`: paths of nodes above the mount point that the expressions of mounted modules can read,
        /// with module names as prefixes. `current()` is the instance of the mount point.
        parent_references: Vec<String>,
    },
    /// `inline`: an instance has the schema whose name is the value of a leaf.
    Inline {
        /// The name of the leaf. It is a child of the mount point or of a node above it; the nearest one is taken.
        selector: String,
        /// The schemas by name. Definitions of one node in several of them must agree in type, keys and default.
        schemas: BTreeMap<String, SchemaSource>,
    },
}

impl SchemaSource {
    /// Removes the modules and submodules that are not imported or included, directly or indirectly, by the implemented
    /// ones. So a folder with all modules of a vendor need not be stored for one module of it.
    pub fn without_unused(mut self) -> Self {
        if self.implement.is_empty() {
            return self;
        }
        let mut used: BTreeSet<String> = self.implement.iter().cloned().collect();
        let mut open: Vec<String> = self.implement.clone();
        while let Some(name) = open.pop() {
            for name in self.names_used_by(&name) {
                if used.insert(name.clone()) {
                    open.push(name);
                }
            }
        }
        self.modules.retain(|module| used.contains(&module.name));
        self
    }

    /// The schemas that are mounted.
    pub fn mounted(&self) -> impl Iterator<Item = &Self> {
        let schemas = self.mounts.iter().map(|mount| &mount.schemas);
        schemas.flat_map(MountedSchemas::all)
    }

    /// The texts of all modules, of mounted schemas too; one may occur several times.
    pub fn all_modules(&self) -> impl Iterator<Item = &ModuleSource> {
        let mounted = self.mounted().flat_map(|schema| &schema.modules);
        self.modules.iter().chain(mounted)
    }

    /// The texts of all revisions of a module; that of the standard module if it is not in the source.
    pub(super) fn texts_of(&self, name: &str) -> Vec<&str> {
        let named = self.modules.iter().filter(|module| module.name == name);
        let mut texts: Vec<&str> = named.map(|module| &*module.text).collect();
        if texts.is_empty() {
            texts.extend(standard::module(name, None).map(|module| module.text));
        }
        texts
    }

    /// The imports and includes of any revision of a module.
    fn names_used_by(&self, name: &str) -> Vec<String> {
        let statements = self.texts_of(name).into_iter().flat_map(Statements::new);
        statements
            .filter(|found| found.depth == 1 && matches!(found.keyword, "import" | "include"))
            .filter_map(|found| found.argument.map(Into::into))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_neither_implemented_nor_imported_nor_included_are_unused() {
        let texts = [
            "module a { import b { prefix b; } include s; description \"import x;\";
             /* import x { } */ leaf import { type string; } }",
            "module b { import ietf-ip { prefix ip; } }",
            "submodule s { belongs-to a { prefix a; } import \"c\" { prefix c; } }",
            "module c { namespace 'urn:c'; }",
            "module x { import y { prefix y; } }",
            "module y { }",
            "module ietf-interfaces { }",
        ];
        let modules: Vec<_> = texts
            .map(|text| ModuleSource::from_text(text).unwrap())
            .to_vec();
        let all = SchemaSource {
            modules,
            ..SchemaSource::default()
        };
        assert_eq!(all.clone().without_unused(), all);
        let one = SchemaSource {
            implement: vec!["a".to_owned()],
            ..all
        };
        let kept = one.without_unused().modules.into_iter();
        let kept: Vec<String> = kept.map(|module| module.name).collect();
        // A standard module imports ietf-interfaces.
        assert_eq!(kept, ["a", "b", "s", "c", "ietf-interfaces"]);
    }

    #[test]
    fn comments_quotes_and_leaves_named_like_statements_are_not_taken_for_revisions() {
        let parsed = |text: &str| {
            let module = ModuleSource::from_text(text)?;
            Some((module.name, module.revision))
        };
        let text = "// revision 2030-01-01;\n/* module x { */ module \"a-b\" {\n\
            description \"a revision \\\" 2029-01-01 { \";\n\
            import c { prefix c; revision-date 2028-01-01; }\n\
            leaf revision { type string; }\n\
            revision 2020-02-03 { description 'first'; }\n  revision \"2021-02-03\";\n}";
        assert_eq!(
            parsed(text),
            Some(("a-b".into(), Some("2021-02-03".into())))
        );
        assert_eq!(parsed("submodule s{}"), Some(("s".into(), None)));
        for text in ["", "<module/>", "module {", "module"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }

    #[test]
    fn name_and_latest_revision_are_parsed_from_the_text() {
        let text = "submodule a { belongs-to b { prefix b; } revision 2020-01-01; \
                    revision \"2024-01-01\" { description 'revision 2030-01-01;'; } }";
        let module = ModuleSource::from_text(text).unwrap();
        assert_eq!(module.name, "a");
        assert_eq!(module.revision.as_deref(), Some("2024-01-01"));
        assert!(module.is_submodule());
        assert_eq!(ModuleSource::from_text("container a;"), None);
    }
}
