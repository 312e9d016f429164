//! Opening views: where every read of a tree begins.

use std::sync::Arc;

use espalier_keyspace::{Prefetch, PrefetchList, Snapshot};

use super::datastore::Datastore;
use super::tree::Tree;
use super::view::View;
use crate::error::Result;

impl Tree {
    /// Opens a view of the current state.
    pub fn view(&self) -> Result<View> {
        if self.datastore() != Datastore::Operational {
            return self.stored_view();
        }
        let snapshot = self
            .store()
            .driver()
            .snapshot_with_prefetch(&|expected| self.expect_modules(expected))?;
        self.check_modules(&*snapshot)?;
        let (compiled, store) = (Arc::clone(self.compiled()), self.store().clone());
        View::operational(snapshot, compiled, self.id(), store)
    }

    /// A view of the stored data; for operational, of what was pushed.
    pub(crate) fn stored_view(&self) -> Result<View> {
        self.stored_view_expecting(&|_| {})
    }

    /// As [`Self::stored_view`], with prefetched reads.
    pub(super) fn stored_view_expecting(&self, expect: Prefetch<'_>) -> Result<View> {
        let snapshot = self.store().driver().snapshot_with_prefetch(&|expected| {
            self.expect_modules(expected);
            expect(expected);
        })?;
        self.check_modules(&*snapshot)?;
        self.stored_view_of(snapshot)
    }

    fn expect_modules(&self, expected: &mut PrefetchList) {
        expected.key(&*self.compiled().modules_precondition.key);
        expected.key(&*self.anchor().key);
    }

    /// As [`Self::stored_view`], over a given snapshot.
    pub(super) fn stored_view_of(&self, snapshot: Box<dyn Snapshot + Send>) -> Result<View> {
        if self.datastore().is_candidate() {
            return self.candidate_view(snapshot);
        }
        Ok(View::new(snapshot, Arc::clone(self.compiled()), self.id()))
    }
}
