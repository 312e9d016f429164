//! The texts of the modules and submodules of a schema (RFC 8040 §3.7).

use std::collections::HashMap;
use std::sync::Arc;

use espalier_yang::schema::SchemaSource;
use espalier_yang::{Schema, standard};

use super::state_store;

/// The texts of an anchor's modules, and of the modules of the server's state.
#[derive(Clone, Debug, Default)]
pub struct ModuleTexts(Arc<HashMap<String, Arc<str>>>);

impl ModuleTexts {
    /// The texts of the modules of `schema`, which was compiled from `source`, and of the modules of the server's state.
    pub fn new(schema: &Schema, source: &SchemaSource) -> Self {
        let mut texts = HashMap::new();
        for module in source.all_modules() {
            let key = Self::key(&module.name, module.revision.as_deref());
            texts.insert(key, Arc::from(module.text.as_str()));
        }
        let mounted = schema.mounts().iter().flat_map(|mount| &mount.schemas);
        let mounted = mounted.flat_map(|schema| &schema.modules);
        for module in schema.own_modules().iter().chain(mounted) {
            let own = std::iter::once((&module.name, &module.revision));
            let submodules = module.submodules.iter();
            let submodules = submodules.map(|(name, revision)| (name, revision));
            for (name, revision) in own.chain(submodules) {
                let standard = standard::module(name, revision.as_deref());
                if let Some(module) = standard {
                    let text = || Arc::from(module.text);
                    let key = Self::key(name, revision.as_deref());
                    texts.entry(key).or_insert_with(text);
                }
            }
        }
        for module in state_store::modules() {
            let key = Self::key(module.name, Some(module.revision));
            let text = || Arc::from(module.text);
            texts.entry(key).or_insert_with(text);
        }
        Self(Arc::new(texts))
    }

    /// The name of a module in the URL of its text, without the extension: `name@revision`, or the name if there is no
    /// revision.
    pub fn key(name: &str, revision: Option<&str>) -> String {
        match revision {
            Some(revision) => format!("{name}@{revision}"),
            None => name.to_owned(),
        }
    }

    /// The text with a [`Self::key`].
    pub fn get(&self, key: &str) -> Option<&Arc<str>> {
        self.0.get(key)
    }
}
