//! What the providers read.

use std::sync::Arc;

use super::state_store::StateStore;
use crate::configuration::ConfigurationTrees;
use crate::denied::DeniedRequests;
use crate::notifications::{ConfiguredSubscriptions, EstablishedSubscriptions};
use crate::session::Sessions;

/// The sources of all state of a service.
pub(crate) struct StateSources {
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) denied: Arc<DeniedRequests>,
    pub(crate) trees: Arc<ConfigurationTrees>,
    pub(crate) established: Arc<EstablishedSubscriptions>,
    pub(crate) configured: Arc<ConfiguredSubscriptions>,
    /// Whether access rules apply.
    pub(crate) enforces_rules: bool,
    pub(crate) store: StateStore,
}
