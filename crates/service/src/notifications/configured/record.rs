//! A configured subscription with its receivers.

use std::collections::BTreeMap;
use std::sync::Arc;

use espalier_store::Timestamp;

use super::super::established::{End, Established, SubscriptionId};
use super::super::position::Position;
use super::super::termination::Termination;
use super::config::{Problem, SubscriptionConfig};
use crate::server_state::StateNodes;

/// A configured subscription.
pub(super) struct Configured {
    pub config: Arc<SubscriptionConfig>,
    pub problem: Option<Problem>,
    pub receivers: BTreeMap<String, ReceiverRecord>,
}

/// What remains of a receiver between its sessions.
#[derive(Default)]
pub(super) struct ReceiverRecord {
    /// The name of the client.
    pub client: String,
    /// What it gets in its session.
    opened: Option<Arc<Established>>,
    /// Whether that is being opened.
    pub is_opening: bool,
    /// Whether nothing is opened before a change, a reset or the next session.
    pub is_disconnected: bool,
    sent: u64,
    excluded: u64,
    /// The position after the events that were sent.
    pub position: Option<Position>,
}

impl ReceiverRecord {
    /// What it gets in its session, if somebody receives from that.
    pub fn opened(&mut self) -> Option<&Arc<Established>> {
        if self.opened.as_ref().is_some_and(|one| !one.is_opened()) {
            self.take();
        }
        self.opened.as_ref()
    }

    /// Begins a session.
    pub fn open(&mut self, established: Arc<Established>) {
        self.opened = Some(established);
    }

    /// Ends what it gets in its session.
    pub fn take(&mut self) -> Option<Arc<Established>> {
        let opened = self.opened.take()?;
        self.sent += opened.sent();
        self.excluded += opened.receiver.excluded();
        self.position = opened.delivered().or(self.position);
        // That of a lost or killed session is opened again in the next one.
        self.is_disconnected = match opened.end() {
            None | Some(End::Deleted | End::Terminated(Termination::SessionEnded)) => false,
            Some(End::Terminated(_)) => true,
        };
        Some(opened)
    }

    /// The counters are those since the subscription became valid.
    pub fn reset_counters(&mut self) {
        (self.sent, self.excluded) = (0, 0);
    }

    fn state(&mut self, is_valid: bool) -> &'static str {
        if let Some(opened) = self.opened() {
            return match (opened.is_suspended(), opened.delivered()) {
                (true, _) => "suspended",
                (false, Some(_)) => "active",
                (false, None) => "connecting",
            };
        }
        match self.is_disconnected || !is_valid {
            true => "disconnected",
            false => "connecting",
        }
    }

    fn counters(&self) -> (u64, u64) {
        let opened = self.opened.as_ref();
        let sent = opened.map_or(0, |one| one.sent());
        let excluded = opened.map_or(0, |one| one.receiver.excluded());
        (self.sent + sent, self.excluded + excluded)
    }
}

impl Configured {
    /// A new subscription.
    pub fn new(config: Arc<SubscriptionConfig>, problem: Option<Problem>) -> Self {
        let mut new = Self {
            config,
            problem,
            receivers: BTreeMap::new(),
        };
        new.set_receivers();
        new
    }

    /// Adopts the receivers of the configuration. Returns what the removed ones get in their sessions.
    pub fn set_receivers(&mut self) -> Vec<Arc<Established>> {
        let clients = &self.config.receivers;
        let mut removed = Vec::new();
        self.receivers.retain(|name, receiver| {
            let is_kept = clients.get(name) == Some(&receiver.client);
            if !is_kept {
                removed.extend(receiver.take());
            }
            is_kept
        });
        for (name, client) in clients {
            let receiver = self.receivers.entry(name.clone()).or_default();
            receiver.client.clone_from(client);
        }
        removed
    }

    /// What all receivers get in their sessions, which ends.
    pub fn take_all(&mut self) -> Vec<Arc<Established>> {
        let receivers = self.receivers.values_mut();
        receivers.filter_map(ReceiverRecord::take).collect()
    }

    /// Whether the stop time has passed.
    pub fn is_concluded(&self, now: Timestamp) -> bool {
        self.config.stop.is_some_and(|stop| stop < now)
    }

    /// Whether its receivers get events.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.problem.is_none() && !self.is_concluded(now)
    }

    /// Adds it to the list of subscriptions.
    pub fn add_to(&mut self, list: &mut StateNodes<'_>, id: SubscriptionId, now: Timestamp) {
        let is_valid = self.is_valid(now);
        let state = match (&self.problem, is_valid) {
            (Some(_), _) => "invalid",
            (None, true) => "valid",
            (None, false) => "concluded",
        };
        list.inner("subscription", |entry| {
            entry.leaf("id", &id.0.to_string());
            self.config.add_to(entry);
            entry.leaf("configured-subscription-state", state);
            entry.inner("receivers", |receivers| {
                for (name, record) in &mut self.receivers {
                    receivers.inner("receiver", |receiver| {
                        let state = record.state(is_valid);
                        let (sent, excluded) = record.counters();
                        receiver.leaf("name", name);
                        receiver.leaf("sent-event-records", &sent.to_string());
                        receiver.leaf("excluded-event-records", &excluded.to_string());
                        receiver.leaf("state", state);
                        let client = "espalier-notification-receivers:call-home-client";
                        receiver.leaf(client, &record.client);
                    });
                }
            });
        });
    }
}
