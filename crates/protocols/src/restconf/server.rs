//! What the RESTCONF services of all anchors of a server share.

use std::sync::Arc;

use espalier_service::Service;
use tokio::sync::Semaphore;

use super::RestconfConfig;
use super::server_description::Xrd;
use crate::intake::Intake;
use crate::stream_slots::StreamSlots;

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
    /// Limits commits and loads that wait: one permit each.
    pub(super) waiting_writes: Arc<Semaphore>,
    /// Limits RPCs and actions: one permit each.
    pub(super) operations: Arc<Semaphore>,
    /// Limits the threads that read past events and updates of datastores: one permit each.
    pub(super) replays: Arc<Semaphore>,
    /// The event streams that are received.
    pub(super) event_streams: Arc<StreamSlots>,
}

impl RestconfServer {
    /// A server of a store.
    pub fn new(service: Service, config: RestconfConfig) -> Self {
        Self {
            host_meta: Xrd::new(&config.root),
            streams: Arc::new(Semaphore::new(config.limits.streams_max)),
            writes: Arc::new(Semaphore::new(config.limits.writes_max)),
            waiting_writes: Arc::new(Semaphore::new(config.limits.writes_waiting_max)),
            operations: Arc::new(Semaphore::new(config.limits.operations_max)),
            replays: Arc::new(Semaphore::new(config.limits.replays_max)),
            event_streams: Arc::new(StreamSlots::new(config.limits.event_streams())),
            config,
            service,
        }
    }

    /// The root resource of the default anchor.
    pub fn root(&self) -> &str {
        &self.config.root
    }

    /// Ends the event streams, which otherwise last until their clients disconnect. Call it at shutdown.
    pub fn end_event_streams(&self) {
        self.event_streams.end();
    }

    /// Where large bodies and messages are received.
    pub(crate) fn intake(&self) -> &Intake {
        &self.config.intake
    }

    /// Limits the threads that read for subscriptions, over RESTCONF and NETCONF.
    pub(crate) fn replays(&self) -> Arc<Semaphore> {
        Arc::clone(&self.replays)
    }

    /// The service of the store.
    pub fn service(&self) -> &Service {
        &self.service
    }
}
