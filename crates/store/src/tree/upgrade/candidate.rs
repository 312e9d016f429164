//! Converts candidates to other modules.

use std::sync::Arc;

use espalier_yang::{DataError, ErrorTag};

use super::anchor_upgrade::{AnchorUpgrade, PreparedUpgrade, UpgradedDatastore, stamp_all, state};
use super::convert::convert;
use super::report::{DatastoreUpgrade, Places};
use crate::error::Result;
use crate::overlay::Overlay;
use crate::tree::stamp::Stamp;
use crate::tree::{Datastore, Tree};

impl AnchorUpgrade<'_> {
    /// Recomputes the changes of every candidate over the future running.
    pub(super) fn candidates(
        &self,
        running: &UpgradedDatastore,
        prepared: &mut PreparedUpgrade,
    ) -> Result<()> {
        let (store, row) = (self.store.clone(), self.row.clone());
        let shared = Tree::new(store, row, Arc::clone(self.old), Datastore::Candidate, "");
        let private = shared.private_candidates()?;
        for candidate in std::iter::once(shared).chain(private) {
            self.candidate(&candidate, running, prepared)?;
        }
        Ok(())
    }

    fn candidate(
        &self,
        old: &Tree,
        running: &UpgradedDatastore,
        prepared: &mut PreparedUpgrade,
    ) -> Result<()> {
        let (datastore, session) = (old.datastore(), old.session());
        let snapshot = self.store.driver().snapshot()?;
        let candidate_state = old.candidate_state(&*snapshot)?;
        candidate_state.require(&mut prepared.batch);
        let conflicts = candidate_state.conflicts();
        // A conflict stays one, and can be resolved after the change of modules.
        let is_untouched = self.nodes.is_same()
            && !running.is_rewritten
            && (!running.has_new_version || !conflicts.is_empty());
        if !candidate_state.has_changes() || is_untouched {
            return Ok(());
        }
        if !conflicts.is_empty() {
            prepared.add_errors(datastore, session, conflicts);
            let message = "a candidate conflicts with running; update it (espalier update) or discard it before the modules change";
            prepared
                .errors
                .push(DataError::new(ErrorTag::InUse, message));
            return Ok(());
        }
        let mut view = Overlay::with(snapshot, candidate_state.data(old));
        let read = state(&view, self.old, old);
        let conversion = convert(read, self.new, self.nodes, self.mismatch_policy())?;
        if !conversion.errors.is_empty() {
            prepared.add_errors(datastore, session, conversion.errors);
            return Ok(());
        }
        let fits =
            conversion.is_empty() && candidate_state.is_on_newest && !running.has_new_version;
        if fits || !prepared.errors.is_empty() {
            return Ok(());
        }
        view.apply(&conversion.changes);
        let (store, row) = (self.store.clone(), self.row.clone());
        let new = Tree::new(store, row, Arc::clone(self.new), datastore, session);
        let mut filled = Places::default();
        self.fills.apply(&new, &mut view, &mut filled)?;
        let mut below = Overlay::with(
            self.store.driver().snapshot()?,
            Arc::clone(&running.changes),
        );
        if running.has_new_version {
            let (version, time) = (running.version, self.store.now());
            stamp_all(&mut below, old, Stamp { version, time });
        }
        let lock_record = new.require_unlocked(&view, self.options.session, &mut prepared.batch)?;
        new.require_no_partial_lock(&lock_record, &conversion.changes, self.options.session)?;
        let batch = &mut prepared.batch;
        new.put_recomputed(candidate_state, below, &view, running.version, batch)?;
        prepared.datastores.push(DatastoreUpgrade {
            anchor: self.row.name.clone(),
            datastore,
            session: session.to_owned(),
            before: 0,
            version: None,
            is_rewritten: !conversion.is_empty(),
            converted: conversion.converted,
            dropped: conversion.dropped,
            filled,
        });
        Ok(())
    }
}
