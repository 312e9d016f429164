//! What a schema is compiled from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The text of one module or submodule (YANG, not YIN).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModuleSource {
    /// Its name.
    pub name: String,
    /// Its latest revision, where it has one.
    pub revision: Option<String>,
    /// The text.
    pub text: String,
}

/// Which features of a module are on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Features {
    /// All of them.
    #[default]
    All,
    /// These.
    Only(Vec<String>),
}

/// The modules of one schema. Serialisable: the store keeps it, so that a store opens without the
/// files it was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SchemaSource {
    /// The texts, those to import from included. Imports that are not here are looked for among
    /// the standard modules that Espalier ships.
    pub modules: Vec<ModuleSource>,
    /// The names of the modules to implement; every module of `modules` that is not a submodule,
    /// where empty.
    pub implement: Vec<String>,
    /// Features by module; modules not named have all.
    pub features: BTreeMap<String, Features>,
}
