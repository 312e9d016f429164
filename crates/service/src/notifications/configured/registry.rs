//! The configured subscriptions of a service.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll};

use espalier_store::{Clock, EventSettings, Result, Stamp, Timestamp, Tree};
use espalier_yang::Schema;
use parking_lot::{Mutex, MutexGuard};

use super::super::established::{End, Established, SubscriptionId, Target, Terms};
use super::super::position::Position;
use super::super::replay::previous_event_time;
use super::super::stream::Stream;
use super::super::termination::Termination;
use super::config::{ConfiguredTarget, Problem, SubscriptionConfig};
use super::record::Configured;
use super::wakers::Wakers;
use crate::server_state::StateNodes;

/// The subscriptions, with the reasons of those that are invalid.
type Configs = BTreeMap<SubscriptionId, (SubscriptionConfig, Option<Problem>)>;

/// What the subscriptions were read from. Nothing changes before one of these does.
pub(crate) struct Known {
    /// The anchor with the configuration.
    pub anchor: u64,
    pub stamps: Vec<Stamp>,
    /// The served anchor.
    pub served: u64,
    pub schema: Arc<Schema>,
    pub settings: EventSettings,
}

impl PartialEq for Known {
    fn eq(&self, other: &Self) -> bool {
        (self.anchor, self.served, &self.stamps) == (other.anchor, other.served, &other.stamps)
            && Arc::ptr_eq(&self.schema, &other.schema)
            && self.settings == other.settings
    }
}

/// A subscription that is opened for a receiver.
pub(crate) struct Opening {
    pub id: SubscriptionId,
    receiver: String,
    pub config: Arc<SubscriptionConfig>,
    /// The position after the events that were sent in earlier sessions.
    pub position: Option<Position>,
}

impl Opening {
    /// The position at which it begins: with `configured-replay`, after the events that were sent in earlier sessions; the
    /// first time, at the start of the server, or later if there are no events from then (RFC 8639 §2.5.6).
    pub fn begin(&self, terms: &mut Terms, running: &Tree, boot: Timestamp) -> Result<Position> {
        let newest = Position::newest(running)?;
        let replays = matches!(
            self.config.target,
            Ok(ConfiguredTarget::Stream { replays: true, .. })
        );
        let Target::Stream(target) = &mut terms.target else {
            return Ok(newest);
        };
        match self.position {
            _ if !replays => return Ok(newest),
            Some(position) => return Ok(position.at_most(newest)),
            None => {}
        }
        let name = target.stream.name();
        let info = Stream::list(running)?;
        let info = info.into_iter().find(|info| info.name == name);
        let available = info.map(|info| info.aged.unwrap_or(info.created));
        let start = available.unwrap_or(boot).max(boot);
        target.start = Some(start);
        if let Some(configured) = &mut terms.configured {
            let sources = target.stream.sources();
            configured.previous = previous_event_time(running, &sources, start)?;
        }
        Ok(newest)
    }
}

/// What came of an opening.
pub(crate) enum Opened {
    Yes(Arc<Established>),
    /// It is tried again after a change, a reset or in the next session.
    Rejected,
    /// It is tried again soon.
    Failed,
}

/// The configured subscriptions of a service.
pub(crate) struct ConfiguredSubscriptions {
    clock: Arc<dyn Clock>,
    /// Locked while the configuration is read.
    known: Mutex<Option<Known>>,
    all: Mutex<All>,
    wakers: Wakers,
}

#[derive(Default)]
struct All {
    by_id: BTreeMap<SubscriptionId, Configured>,
    /// What was ended, until its receiver has been notified.
    ending: Vec<Arc<Established>>,
}

impl ConfiguredSubscriptions {
    /// None yet.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            known: Mutex::default(),
            all: Mutex::default(),
            wakers: Wakers::default(),
        }
    }

    /// What the subscriptions were read from; nobody else reads them meanwhile.
    pub fn known(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock()
    }

    /// Adopts the configuration. Returns what receivers get in their sessions whose terms changed.
    pub fn apply(&self, configs: Configs) -> Vec<(Arc<Established>, Arc<SubscriptionConfig>)> {
        let now = self.clock.now();
        let mut modified = Vec::new();
        let mut all = self.all.lock();
        let All { by_id, ending } = &mut *all;
        by_id.retain(|id, one| {
            let is_kept = configs.contains_key(id);
            if !is_kept {
                terminate(one.take_all(), Termination::Killed, ending);
            }
            is_kept
        });
        for (id, (config, problem)) in configs {
            if let Some(problem) = &problem {
                let (id, reason) = (id.0, &problem.message);
                tracing::warn!(id, reason, "a configured subscription is invalid");
            }
            let config = Arc::new(config);
            match by_id.get_mut(&id) {
                None => {
                    by_id.insert(id, Configured::new(config, problem));
                }
                Some(one) if one.config == config && one.problem == problem => {}
                Some(one) => modified.extend(one.change(config, problem, now, ending)),
            }
        }
        drop(all);
        self.wakers.wake();
        modified
    }

    /// The subscriptions that have to be opened for the session of a client. For each, [`Self::opened`] must follow.
    pub fn to_open(&self, client: &str) -> Vec<Opening> {
        let now = self.clock.now();
        let mut all = self.all.lock();
        let All { by_id, ending } = &mut *all;
        ending.retain(|one| one.is_opened());
        let valid = by_id.iter_mut().filter(|(_, one)| one.is_valid(now));
        let mut openings = Vec::new();
        for (id, one) in valid {
            // Its last notification is to be sent before the first one of the next.
            if ending.iter().any(|ending| ending.id == *id) {
                continue;
            }
            for (name, receiver) in &mut one.receivers {
                let is_free = receiver.opened().is_none() && !receiver.is_opening;
                if receiver.client == client && is_free && !receiver.is_disconnected {
                    receiver.is_opening = true;
                    openings.push(Opening {
                        id: *id,
                        receiver: name.clone(),
                        config: Arc::clone(&one.config),
                        position: receiver.position,
                    });
                }
            }
        }
        openings
    }

    /// A subscription was opened, or not; returns whether it still is in the configuration.
    pub fn opened(&self, opening: &Opening, opened: Opened) -> bool {
        let mut all = self.all.lock();
        let found = all.by_id.get_mut(&opening.id);
        let Some(one) = found.filter(|one| Arc::ptr_eq(&one.config, &opening.config)) else {
            return false;
        };
        let Some(receiver) = one.receivers.get_mut(&opening.receiver) else {
            return false;
        };
        receiver.is_opening = false;
        match opened {
            Opened::Yes(established) => receiver.open(established),
            Opened::Rejected => receiver.is_disconnected = true,
            Opened::Failed => {}
        }
        true
    }

    /// The client has a new session: what failed in the one before is tried again. Returns a number for [`Self::poll`].
    pub fn connect(&self, client: &str) -> u64 {
        for one in self.all.lock().by_id.values_mut() {
            for receiver in one.receivers.values_mut() {
                if receiver.client == client && receiver.opened().is_none() {
                    receiver.is_disconnected = false;
                }
            }
        }
        self.wakers.add()
    }

    /// A session of a client has ended.
    pub fn disconnect(&self, task: u64) {
        self.wakers.remove(task);
        self.wakers.wake();
    }

    /// Whether there may be other subscriptions to open than at a revision, which then is that of now.
    pub fn poll(&self, task: u64, seen: &mut u64, context: &Context<'_>) -> Poll<()> {
        self.wakers.poll(task, seen, context)
    }

    /// Begins a subscription again for a receiver (RFC 8639 §2.5.5); false if it does not exist.
    pub fn reset(&self, id: SubscriptionId, receiver: &str) -> bool {
        let mut all = self.all.lock();
        let one = all.by_id.get_mut(&id);
        let Some(receiver) = one.and_then(|one| one.receivers.get_mut(receiver)) else {
            return false;
        };
        match receiver.opened() {
            Some(opened) => opened.finish(End::Deleted),
            None => receiver.is_disconnected = false,
        }
        drop(all);
        self.wakers.wake();
        true
    }

    /// Adds all to the list of subscriptions.
    pub fn add_to(&self, list: &mut StateNodes<'_>) {
        let now = self.clock.now();
        let mut all = self.all.lock();
        for (id, one) in &mut all.by_id {
            one.add_to(list, *id, now);
        }
    }
}

/// Ends what receivers get in their sessions.
fn terminate(
    opened: Vec<Arc<Established>>,
    reason: Termination,
    ending: &mut Vec<Arc<Established>>,
) {
    for one in opened {
        one.finish(End::Terminated(reason));
        ending.push(one);
    }
}

impl Configured {
    /// Adopts a changed configuration. Returns what receivers get in their sessions whose terms changed.
    fn change(
        &mut self,
        config: Arc<SubscriptionConfig>,
        problem: Option<Problem>,
        now: Timestamp,
        ending: &mut Vec<Arc<Established>>,
    ) -> Vec<(Arc<Established>, Arc<SubscriptionConfig>)> {
        let was_valid = self.is_valid(now);
        let before = std::mem::replace(&mut self.config, config);
        self.problem = problem;
        terminate(self.set_receivers(), Termination::Killed, ending);
        let is_modifiable = match (&before.target, &self.config.target) {
            (Ok(before), Ok(after)) => before.is_modifiable_to(after),
            _ => false,
        };
        if self.problem.is_some() || !is_modifiable {
            let reason = self.problem.as_ref().map(|problem| problem.reason);
            let reason = reason.unwrap_or(Termination::Killed);
            terminate(self.take_all(), reason, ending);
        }
        let is_valid = self.is_valid(now);
        let has_same_terms = before.has_terms_of(&self.config);
        let mut modified = Vec::new();
        for receiver in self.receivers.values_mut() {
            receiver.is_opening = false;
            if is_valid && !was_valid {
                receiver.reset_counters();
            }
            match receiver.opened() {
                Some(opened) if !has_same_terms => {
                    modified.push((Arc::clone(opened), Arc::clone(&self.config)));
                }
                Some(_) => {}
                None => receiver.is_disconnected = false,
            }
        }
        modified
    }
}
