//! The connections of a server, and the eviction of connections when there are too many.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use super::activity::{Activity, Phase};

/// How long the server waits for an evicted connection to end before it evicts another.
const EVICTION_PAUSE: Duration = Duration::from_millis(100);

/// A client that read part of a response within this time counts as still reading.
const READING_PAUSE: Duration = Duration::from_secs(1);

/// If no connection ever sent a request, 1 in this many is evicted at a time, so that during a flood one
/// scan frees many slots.
const EVICTION_SHARE: usize = 64;

/// The connections of a server.
pub(super) struct Registry {
    slots: Arc<Semaphore>,
    connections_max: usize,
    connections: Mutex<HashMap<u64, Arc<Activity>>>,
    next: AtomicU64,
}

/// The slot of one connection, released on drop.
pub(super) struct Slot {
    registry: Arc<Registry>,
    id: u64,
    activity: Arc<Activity>,
    _permit: OwnedSemaphorePermit,
}

/// The order of eviction: connections that never sent a request, then idle ones, then those that wait for a
/// body, then those whose client does not read the response.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    NoRequests,
    Idle,
    Receiving,
    Sending,
}

impl Registry {
    pub(super) fn new(connections_max: usize) -> Arc<Self> {
        // A semaphore has its own maximum, and waiting for all permits takes a u32.
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

    /// A slot for a connection. If there is none, others are evicted.
    pub(super) async fn acquire_slot(self: &Arc<Self>) -> Slot {
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

    /// Evicts the first connections in eviction order.
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
        let further = further.filter(|(rank, ..)| *rank == Rank::NoRequests);
        for (.., activity) in ranked.iter().take(1).chain(further) {
            activity.evict();
        }
    }

    /// Completes when all connections are closed.
    pub(super) async fn all_closed(&self) {
        // Fits, because it was clamped.
        let all = u32::try_from(self.connections_max).unwrap_or(u32::MAX);
        let _ = self.slots.acquire_many(all).await;
    }
}

/// The eviction order of a connection; `None` if it cannot be evicted.
fn rank(activity: &Activity) -> Option<(Rank, Instant)> {
    let state = activity.snapshot();
    let rank = match state.phase {
        _ if state.is_evicted => return None,
        Phase::Working => return None,
        Phase::Sending if state.since.elapsed() < READING_PAUSE => return None,
        Phase::Sending => Rank::Sending,
        Phase::Receiving => Rank::Receiving,
        Phase::Waiting if state.answered > 0 => Rank::Idle,
        Phase::Waiting => Rank::NoRequests,
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
    use super::super::activity::RequestInProgress;
    use super::*;

    /// Whether each of these was evicted.
    fn evicted(slots: &[&Slot]) -> Vec<bool> {
        let states = slots.iter().map(|slot| slot.activity().snapshot());
        states.map(|state| state.is_evicted).collect()
    }

    /// Makes one moment later than another.
    const STEP: Duration = Duration::from_millis(2);

    #[tokio::test]
    async fn a_connection_without_requests_is_evicted_first() {
        let registry = Registry::new(4);
        let pause = || tokio::time::sleep(STEP);
        let idle = registry.acquire_slot().await;
        drop(RequestInProgress::begin(idle.activity()));
        pause().await;
        let silent = registry.acquire_slot().await;
        pause().await;
        let receiving = registry.acquire_slot().await;
        let _receiving = RequestInProgress::begin(receiving.activity());
        receiving.activity().begin_body_wait();
        let working = registry.acquire_slot().await;
        let _working = RequestInProgress::begin(working.activity());
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
    async fn the_oldest_connection_is_evicted_for_a_slot() {
        let registry = Registry::new(2);
        let first = registry.acquire_slot().await;
        tokio::time::sleep(STEP).await;
        let second = registry.acquire_slot().await;
        let activity = Arc::clone(first.activity());
        tokio::spawn(async move {
            activity.evicted().await;
            drop(first);
        });
        registry.acquire_slot().await;
        assert!(!second.activity().snapshot().is_evicted);
    }
}
