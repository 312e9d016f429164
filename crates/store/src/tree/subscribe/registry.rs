//! The registry of subscriptions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, ThreadId};

use espalier_yang::{InstancePath, Schema};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;

use super::queue::Queue;
use super::subscriber::{Subscriber, Subscription};
use crate::keys::TreeId;
use crate::store::Store;

/// One subscription.
pub(super) struct Listener {
    id: u64,
    subscription: Subscription,
    /// The schema of the paths.
    schema: Arc<Schema>,
    pub delivery: Delivery,
}

/// How commits are delivered.
pub(super) enum Delivery {
    /// As part of the commit.
    InCommit(Arc<dyn Subscriber>),
    /// By a queue.
    Queue(Arc<Queue>),
}

impl Listener {
    /// The paths in a schema, which may be a later one; paths that it does not have are omitted.
    pub fn paths(&self, schema: &Arc<Schema>) -> Vec<InstancePath> {
        let paths = &self.subscription.paths;
        if Arc::ptr_eq(schema, &self.schema) {
            return paths.clone();
        }
        let texts = paths
            .iter()
            .map(|path| path.to_instance_identifier(&self.schema));
        texts
            .filter_map(|text| InstancePath::parse_cli_path(schema, &text).ok())
            .collect()
    }

    /// Whether it covers the whole datastore.
    pub fn covers_everything(&self) -> bool {
        self.subscription.paths.is_empty()
    }

    /// The subscriber, if it takes part in commits.
    pub fn subscriber(&self) -> Option<&dyn Subscriber> {
        match &self.delivery {
            Delivery::InCommit(subscriber) => Some(&**subscriber),
            Delivery::Queue(_) => None,
        }
    }
}

/// The subscriptions of one tree, in order of delivery.
pub(super) type Listeners = Arc<[Arc<Listener>]>;

/// All subscriptions of a store.
#[derive(Default)]
pub(crate) struct Registry {
    trees: RwLock<FxHashMap<TreeId, Listeners>>,
    last_id: AtomicU64,
    /// The threads that are inside a call of a subscriber, with the lock that they hold.
    active_calls: Mutex<Vec<(ThreadId, usize)>>,
}

impl Registry {
    /// Adds a listener with a new id, which is returned.
    pub(super) fn register(
        &self,
        tree: TreeId,
        subscription: Subscription,
        schema: Arc<Schema>,
        delivery: Delivery,
    ) -> u64 {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed);
        let listener = Listener {
            id,
            subscription,
            schema,
            delivery,
        };
        self.add(tree, listener);
        id
    }

    /// The subscriptions of a tree; usually none.
    pub(super) fn listeners(&self, tree: TreeId) -> Option<Listeners> {
        self.trees.read().get(&tree).cloned()
    }

    fn change(&self, tree: TreeId, change: impl FnOnce(&mut Vec<Arc<Listener>>)) {
        let mut trees = self.trees.write();
        let mut listeners = trees
            .remove(&tree)
            .map_or_else(Vec::new, |old| old.to_vec());
        change(&mut listeners);
        if !listeners.is_empty() {
            trees.insert(tree, listeners.into());
        }
    }

    fn add(&self, tree: TreeId, listener: Listener) {
        self.change(tree, |listeners| {
            let priority = listener.subscription.priority;
            let at = listeners.partition_point(|other| other.subscription.priority >= priority);
            listeners.insert(at, Arc::new(listener));
        });
    }

    /// Whether this thread is inside a call of a subscriber while holding a lock of trees.
    pub(super) fn is_in_call(&self, lock: usize) -> bool {
        let me = (thread::current().id(), lock);
        self.active_calls.lock().contains(&me)
    }

    /// Whether this thread is inside a call of a subscriber.
    pub(crate) fn is_in_any_call(&self) -> bool {
        let me = thread::current().id();
        self.active_calls
            .lock()
            .iter()
            .any(|(thread, _)| *thread == me)
    }

    /// Records that this thread calls a subscriber, until the result is dropped.
    pub(super) fn begin_call(&self, lock: usize) -> ActiveCall<'_> {
        let me = (thread::current().id(), lock);
        self.active_calls.lock().push(me);
        ActiveCall { registry: self, me }
    }
}

/// A call of a subscriber in progress.
pub(super) struct ActiveCall<'a> {
    registry: &'a Registry,
    me: (ThreadId, usize),
}

impl Drop for ActiveCall<'_> {
    fn drop(&mut self) {
        let mut active_calls = self.registry.active_calls.lock();
        if let Some(at) = active_calls.iter().rposition(|one| *one == self.me) {
            active_calls.remove(at);
        }
    }
}

/// An active subscription. Dropping it ends the subscription.
#[must_use = "the subscription ends when this is dropped"]
pub struct SubscriptionGuard {
    store: Store,
    tree: TreeId,
    id: u64,
}

impl SubscriptionGuard {
    pub(super) fn new(store: Store, tree: TreeId, id: u64) -> Self {
        Self { store, tree, id }
    }
}

impl Drop for SubscriptionGuard {
    fn drop(&mut self) {
        self.store.subscriptions().change(self.tree, |listeners| {
            listeners.retain(|one| one.id != self.id);
        });
    }
}
