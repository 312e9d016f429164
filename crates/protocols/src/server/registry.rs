//! The connections of a server, and which of them is closed when there are too many.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use super::activity::{Activity, Phase};

/// How long the server waits for an evicted connection to end before it evicts another.
const EVICTION_PAUSE: Duration = Duration::from_millis(100);

/// A client that took part of an answer within this time is taking it still.
const TAKING_PAUSE: Duration = Duration::from_secs(1);

/// One in so many connections is closed at a time where none of them ever sent a request, so that
/// a flood of them costs one look through all connections for many.
const EVICTION_SHARE: usize = 64;

/// The connections of a server.
pub(super) struct Registry {
    slots: Arc<Semaphore>,
    connections_max: usize,
    connections: Mutex<HashMap<u64, Arc<Activity>>>,
    next: AtomicU64,
}

/// The place of one connection, until it is dropped.
pub(super) struct Slot {
    registry: Arc<Registry>,
    id: u64,
    activity: Arc<Activity>,
    _permit: OwnedSemaphorePermit,
}

/// Which connection is closed first: those that never sent a request, then those between two
/// requests, then those whose body is awaited, then those whose client does not take the answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    NeverAsked,
    Idle,
    Receiving,
    Sending,
}

impl Registry {
    pub(super) fn new(connections_max: usize) -> Arc<Self> {
        // A semaphore has a maximum of its own, and waiting for all takes a u32.
        let connections_max = connections_max.clamp(1, u32::MAX as usize >> 3);
        Arc::new(Self {
            slots: Arc::new(Semaphore::new(connections_max)),
            connections_max,
            connections: Mutex::default(),
            next: AtomicU64::new(0),
        })
    }

    fn connections(&self) -> MutexGuard<'_, HashMap<u64, Arc<Activity>>> {
        let connections = self.connections.lock();
        connections.unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection. Where there is none, others are closed.
    pub(super) async fn slot(self: &Arc<Self>) -> Slot {
        loop {
            if let Ok(permit) = Arc::clone(&self.slots).try_acquire_owned() {
                return self.register(permit);
            }
            self.evict();
            let freed = Arc::clone(&self.slots).acquire_owned();
            if let Ok(Ok(permit)) = timeout(EVICTION_PAUSE, freed).await {
                return self.register(permit);
            }
        }
    }

    fn register(self: &Arc<Self>, permit: OwnedSemaphorePermit) -> Slot {
        let slot = Slot {
            registry: Arc::clone(self),
            id: self.next.fetch_add(1, Ordering::Relaxed),
            activity: Arc::new(Activity::new()),
            _permit: permit,
        };
        let activity = Arc::clone(&slot.activity);
        self.connections().insert(slot.id, activity);
        slot
    }

    /// Closes the connections that others can best do without.
    pub(super) fn evict(&self) {
        let connections = self.connections();
        let ranked = connections.values().filter_map(|activity| {
            let (rank, since) = rank(activity)?;
            Some((rank, since, activity))
        });
        let mut ranked: Vec<_> = ranked.collect();
        ranked.sort_unstable_by_key(|&(rank, since, _)| (rank, since));
        let share = self.connections_max / EVICTION_SHARE;
        let further = ranked.iter().skip(1).take(share);
        let further = further.filter(|(rank, ..)| *rank == Rank::NeverAsked);
        for (.., activity) in ranked.iter().take(1).chain(further) {
            activity.evict();
        }
    }

    /// Completes when there are no connections.
    pub(super) async fn all_closed(&self) {
        // At most the u32 that it was clamped to.
        let all = u32::try_from(self.connections_max).unwrap_or(u32::MAX);
        let _ = self.slots.acquire_many(all).await;
    }
}

/// The order in which connections are closed. None for one that is not closed for others.
fn rank(activity: &Activity) -> Option<(Rank, Instant)> {
    let state = activity.snapshot();
    let rank = match state.phase {
        _ if state.is_evicted => return None,
        Phase::Working => return None,
        Phase::Sending if state.since.elapsed() < TAKING_PAUSE => return None,
        Phase::Sending => Rank::Sending,
        Phase::Receiving => Rank::Receiving,
        Phase::Waiting if state.answered > 0 => Rank::Idle,
        Phase::Waiting => Rank::NeverAsked,
    };
    Some((rank, state.since))
}

impl Slot {
    pub(super) fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.registry.connections().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::super::activity::UnderWay;
    use super::*;

    /// Whether each of these was evicted.
    fn evicted(slots: &[&Slot]) -> Vec<bool> {
        let states = slots.iter().map(|slot| slot.activity().snapshot());
        states.map(|state| state.is_evicted).collect()
    }

    /// So that one moment is later than another.
    const STEP: Duration = Duration::from_millis(2);

    #[tokio::test]
    async fn a_connection_that_never_asked_is_closed_before_one_that_did() {
        let registry = Registry::new(4);
        let pause = || tokio::time::sleep(STEP);
        let idle = registry.slot().await;
        drop(UnderWay::begin(idle.activity()));
        pause().await;
        let silent = registry.slot().await;
        pause().await;
        let receiving = registry.slot().await;
        let _receiving = UnderWay::begin(receiving.activity());
        receiving.activity().awaits_body();
        let working = registry.slot().await;
        let _working = UnderWay::begin(working.activity());
        let all = [&silent, &idle, &receiving, &working];
        for expected in [
            [true, false, false, false],
            [true, true, false, false],
            [true, true, true, false],
            [true, true, true, false],
        ] {
            registry.evict();
            assert_eq!(evicted(&all), expected);
        }
    }

    #[tokio::test]
    async fn a_slot_is_made_free_by_the_oldest_connection() {
        let registry = Registry::new(2);
        let first = registry.slot().await;
        tokio::time::sleep(STEP).await;
        let second = registry.slot().await;
        let activity = Arc::clone(first.activity());
        tokio::spawn(async move {
            activity.evicted().await;
            drop(first);
        });
        registry.slot().await;
        assert!(!second.activity().snapshot().is_evicted);
    }
}
