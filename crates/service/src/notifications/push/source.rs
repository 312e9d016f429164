//! What a subscription needs of its datastore.

use std::fmt;
use std::sync::Arc;

use espalier_store::{Filter, Result};
use espalier_yang::Schema;
use espalier_yang::data::DataTree;

use super::super::established::GivenFilter;

/// All selected data.
pub(crate) struct PushContents {
    /// The data, each part with its schema.
    pub parts: Vec<(Arc<Schema>, DataTree)>,
    /// Whether a part of the data could not be read.
    pub is_incomplete: bool,
}

/// Whether the filter of a subscription is still the same.
pub(crate) enum Renewed {
    Unchanged,
    /// The configured filter was changed.
    Changed(Arc<dyn PushSource>),
    /// The configured filter was deleted.
    Missing,
}

/// The filter of a subscription with its datastore, for its subscriber.
pub(crate) trait PushSource: Send + Sync + fmt::Debug {
    /// Reads all selected data, under the access rules that apply now. Blocks.
    ///
    /// # Errors
    /// `too-big` beyond [`PUSH_UPDATE_NODES_MAX`](super::PUSH_UPDATE_NODES_MAX) nodes; those of the filter and of the engine.
    fn read(&self) -> Result<PushContents>;

    /// The filter for data with a schema.
    ///
    /// # Errors
    /// The filter does not fit the schema.
    fn filter(&self, schema: &Schema) -> Result<Filter>;

    /// The content of the filter.
    fn content(&self) -> Option<&GivenFilter>;

    /// Reads the configured filter again.
    ///
    /// # Errors
    /// Those of the engine.
    fn renewed(&self) -> Result<Renewed>;
}
