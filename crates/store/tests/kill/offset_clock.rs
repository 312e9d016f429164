//! A clock that can be advanced.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use espalier_keyspace::Driver;
use espalier_store::{Clock, Datastore, Store, SystemClock, Timestamp, Tree};

use crate::fixture::source;
use crate::steps::MODEL;

/// The system clock plus some seconds.
#[derive(Clone, Default)]
pub struct OffsetClock(Arc<AtomicU64>);

impl OffsetClock {
    /// The seconds by which it is ahead.
    pub fn ahead(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    pub fn advance(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }
}

impl Clock for OffsetClock {
    fn now(&self) -> Timestamp {
        Timestamp(SystemClock.now().0 + self.ahead() * 1000)
    }
}

/// Running of an anchor, in a store with a clock.
pub fn open(driver: Arc<dyn Driver>, clock: &OffsetClock) -> Tree {
    let store = Store::open(driver, Arc::new(clock.clone())).expect("the store opens");
    if store.dataspaces().expect("dataspaces").is_empty() {
        store.create_dataspace("d").expect("a dataspace");
        let source = source(MODEL);
        store.create_schema_set("d", "s", &source).expect("a model");
        store.create_anchor("d", "a", "s").expect("an anchor");
    }
    store
        .tree("d", "a", Datastore::Running)
        .expect("the anchor")
}
