//! What the RESTCONF services of all anchors of a server share.

use std::sync::Arc;

use espalier_service::Service;
use tokio::sync::Semaphore;

use super::RestconfConfig;
use super::server_description::Xrd;

/// What the RESTCONF services of all anchors of a server share: the configuration, the limits of concurrent requests,
/// and the documents that depend on no anchor.
pub struct RestconfServer {
    pub(super) config: RestconfConfig,
    pub(super) service: Service,
    pub(super) host_meta: Xrd,
    /// Limits streamed responses: one permit each.
    pub(super) streams: Arc<Semaphore>,
    /// Limits commits and loads: one permit each.
    pub(super) writes: Arc<Semaphore>,
    /// Limits RPCs and actions: one permit each.
    pub(super) operations: Arc<Semaphore>,
}

impl RestconfServer {
    /// A server of a store.
    pub fn new(service: Service, config: RestconfConfig) -> Self {
        Self {
            host_meta: Xrd::new(&config.root),
            streams: Arc::new(Semaphore::new(config.limits.streams_max)),
            writes: Arc::new(Semaphore::new(config.limits.writes_max)),
            operations: Arc::new(Semaphore::new(config.limits.operations_max)),
            config,
            service,
        }
    }

    /// The root resource of the default anchor.
    pub fn root(&self) -> &str {
        &self.config.root
    }

    /// The service of the store.
    pub fn service(&self) -> &Service {
        &self.service
    }
}
