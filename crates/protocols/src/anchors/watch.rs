//! The thread that looks for changes of the catalog by other processes.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use espalier_store::CatalogState;

use super::ServedAnchors;
use super::limits::{CHECK_INTERVAL, CHECK_INTERVAL_MAX, CHECKS_PER_EPOCH};
use super::served_anchors::Inner;

impl ServedAnchors {
    /// Starts the thread that looks for changes of the catalog, and closes idle anchors. It ends with the last handle.
    pub fn watch(&self) {
        let anchors = Arc::downgrade(&self.inner);
        let seen = self.inner.first_state.clone();
        thread::spawn(move || watch(&anchors, seen));
    }
}

fn watch(anchors: &Weak<Inner>, mut seen: CatalogState) {
    let mut interval = CHECK_INTERVAL;
    for round in 1_u32.. {
        thread::sleep(interval);
        let Some(anchors) = anchors.upgrade() else {
            return;
        };
        anchors.open.close_idle();
        metrics::gauge!("espalier_open_anchors").set(anchors.open.len() as f64);
        let state = match anchors.store().catalog_state() {
            Ok(state) => state,
            Err(error) => {
                // Every request fails with the same error and reports it.
                tracing::debug!(%error, "it is unknown whether the catalog is unchanged");
                continue;
            }
        };
        if state != seen
            || round.is_multiple_of(CHECKS_PER_EPOCH)
            || anchors.has_default_failed()
            || anchors.is_default_replaced()
        {
            anchors.catalog_changed();
        }
        seen = state;
        interval = next_interval(interval, anchors.has_default_failed());
    }
}

/// While the default anchor cannot be opened, the interval grows.
fn next_interval(interval: Duration, is_failed: bool) -> Duration {
    match is_failed {
        true => (2 * interval).min(CHECK_INTERVAL_MAX),
        false => CHECK_INTERVAL,
    }
}
