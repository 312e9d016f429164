//! What the providers read.

use std::sync::Arc;

use super::state_store::StateStore;
use crate::configuration::ConfigurationTrees;
use crate::denied::DeniedRequests;
use crate::session::Sessions;

/// The sources of all state of a service.
pub(crate) struct StateSources {
    pub(super) sessions: Arc<Sessions>,
    pub(super) denied: Arc<DeniedRequests>,
    pub(super) trees: Arc<ConfigurationTrees>,
    /// Whether access rules apply.
    pub(super) enforces_rules: bool,
    pub(super) store: StateStore,
}

impl StateSources {
    /// The state of a service. `enforces_rules` is whether access rules apply.
    pub fn new(
        sessions: Arc<Sessions>,
        denied: Arc<DeniedRequests>,
        trees: Arc<ConfigurationTrees>,
        enforces_rules: bool,
    ) -> Self {
        Self {
            sessions,
            denied,
            trees,
            enforces_rules,
            store: StateStore::default(),
        }
    }
}
