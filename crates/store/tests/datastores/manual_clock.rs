//! A clock that is advanced by the test.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use espalier_keyspace::Driver;
use espalier_store::{Clock, Datastore, Store, Timestamp, Tree};

use crate::fixture::{MODEL, source};

/// A clock that is advanced by the test.
#[derive(Clone, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    pub fn advance(&self, seconds: u64) {
        self.0.fetch_add(seconds * 1000, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

/// Running of an anchor, in a store with a clock.
pub fn open(driver: Arc<dyn Driver>, clock: &ManualClock) -> Tree {
    let store = Store::open(driver, Arc::new(clock.clone())).unwrap();
    if store.dataspaces().unwrap().is_empty() {
        store.create_dataspace("d").unwrap();
        store.create_schema_set("d", "s", &source(MODEL)).unwrap();
        store.create_anchor("d", "a", "s").unwrap();
    }
    store.tree("d", "a", Datastore::Running).unwrap()
}
