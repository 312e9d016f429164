//! What a front end serves of an anchor.

use espalier_store::Datastore;

use super::module_texts::ModuleTexts;
use crate::anchor::Anchor;

/// The description of an anchor that is served, for the server's state.
pub struct ServedAnchor {
    /// The anchor.
    pub anchor: Anchor,
    /// The datastores that clients can name.
    pub datastores: Vec<Datastore>,
    /// The texts of its modules.
    pub texts: ModuleTexts,
    /// The URL of the folder with the texts, without a slash at the end; empty if they have no URL.
    pub texts_url: String,
    /// The URL of the folder with the event streams, without a slash at the end; empty if they have no URL.
    pub streams_url: String,
    /// The capabilities of RESTCONF (RFC 8040 §9.1).
    pub restconf_capabilities: Vec<String>,
}

impl ServedAnchor {
    /// The URL of the text of a module or submodule.
    pub(super) fn text_url(&self, name: &str, revision: Option<&str>) -> Option<String> {
        let key = ModuleTexts::key(name, revision);
        let has_url = !self.texts_url.is_empty() && self.texts.get(&key).is_some();
        has_url.then(|| format!("{}/{key}.yang", self.texts_url))
    }
}
