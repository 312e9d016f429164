//! The source texts of the modules and submodules of a schema (RFC 8040 §3.7).

use std::collections::HashMap;
use std::sync::Arc;

use espalier_yang::schema::SchemaSource;
use espalier_yang::{Schema, standard};

/// The texts by `name@revision`, or by name if there is no revision.
#[derive(Debug, Default)]
pub(in crate::restconf) struct ModuleTexts(HashMap<String, Arc<str>>);

impl ModuleTexts {
    /// The texts of the modules of `schema`: its sources, and standard modules.
    pub(in crate::restconf) fn new(schema: &Schema, source: &SchemaSource) -> Self {
        let mut texts = HashMap::new();
        for module in &source.modules {
            let key = key(&module.name, module.revision.as_deref());
            texts.insert(key, Arc::from(module.text.as_str()));
        }
        for module in schema.modules() {
            let own = std::iter::once((&module.name, &module.revision));
            let submodules = module
                .submodules
                .iter()
                .map(|(name, revision)| (name, revision));
            for (name, revision) in own.chain(submodules) {
                let key = key(name, revision.as_deref());
                if !texts.contains_key(&key)
                    && let Some(module) = standard::module(name, revision.as_deref())
                {
                    texts.insert(key, Arc::from(module.text));
                }
            }
        }
        Self(texts)
    }

    /// The text of `name@revision` or `name`.
    pub(in crate::restconf) fn get(&self, key: &str) -> Option<&Arc<str>> {
        self.0.get(key)
    }

    /// Whether the text of a module or submodule is available.
    pub(super) fn has(&self, name: &str, revision: Option<&str>) -> bool {
        self.0.contains_key(&key(name, revision))
    }
}

/// The name of a module in the URL of its text, without the extension.
pub(super) fn key(name: &str, revision: Option<&str>) -> String {
    match revision {
        Some(revision) => format!("{name}@{revision}"),
        None => name.to_owned(),
    }
}
