//! The texts of the modules and submodules of a schema (RFC 8040 §3.7).

use std::collections::HashMap;
use std::sync::Arc;

use espalier_store::Result;
use espalier_yang::schema::SchemaSource;
use espalier_yang::{DataError, ErrorTag, Schema, standard};

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

    /// The text of a module or submodule; without a revision, the only one.
    ///
    /// # Errors
    /// `operation-failed` if there are several revisions and none is named (RFC 6022 §3.1).
    pub(super) fn find(&self, name: &str, revision: Option<&str>) -> Result<Option<&Arc<str>>> {
        if revision.is_some() {
            return Ok(self.get(&Self::key(name, revision)));
        }
        let is_named = |key: &str| key.split('@').next() == Some(name);
        let mut found = self.0.iter().filter(|(key, _)| is_named(key));
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => {
                let message = format!("there are several revisions of {name}");
                let error = DataError::new(ErrorTag::OperationFailed, message);
                Err(error.with_app_tag("data-not-unique").into())
            }
            (text, _) => Ok(text.map(|(_, text)| text)),
        }
    }

    /// The text with a [`Self::key`].
    pub fn get(&self, key: &str) -> Option<&Arc<str>> {
        self.0.get(key)
    }
}
