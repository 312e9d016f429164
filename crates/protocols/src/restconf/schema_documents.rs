//! The documents that depend on a schema alone.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use espalier_yang::Schema;
use espalier_yang::schema::SchemaSource;

use espalier_service::server_state::ModuleTexts;

/// The documents that depend on a schema alone: shared by all anchors with the same modules.
pub struct SchemaDocuments {
    pub(super) schema: Arc<Schema>,
    source: SchemaSource,
    /// See [`Self::source_json`].
    source_json: OnceLock<Bytes>,
    pub(super) texts: ModuleTexts,
}

impl SchemaDocuments {
    /// The documents of a schema, which was compiled from `source`.
    pub fn new(schema: Arc<Schema>, source: SchemaSource) -> Self {
        Self {
            texts: ModuleTexts::new(&schema, &source),
            schema,
            source,
            source_json: OnceLock::new(),
        }
    }

    /// The schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// What the schema was compiled from, as JSON.
    pub fn source_json(&self) -> Bytes {
        let json = self.source_json.get_or_init(|| {
            let json = serde_json::to_vec(&self.source);
            json.expect("names and texts are JSON").into()
        });
        json.clone()
    }
}
