//! Calls of subscribers during a commit.

use std::panic::{AssertUnwindSafe, catch_unwind};

use espalier_yang::{DataError, ErrorTag};

use super::subscriber::Subscriber;
use crate::error::Result;
use crate::overlay::Overlay;
use crate::store::Store;
use crate::tree::changes::{Comparison, Diff, NewerState};
use crate::tree::edit::{Edit, EditApplier, TouchedResources};
use crate::tree::tree::Tree;

impl Tree {
    /// Calls a subscriber; a panic becomes an error.
    pub(super) fn call<T>(
        &self,
        subscriber: &dyn Subscriber,
        call: impl FnOnce(&dyn Subscriber) -> T,
    ) -> std::result::Result<T, DataError> {
        let lock = Store::lock_of(self.id());
        let _calling = self.store().subscriptions().begin_call(lock);
        catch_unwind(AssertUnwindSafe(|| call(subscriber))).map_err(|_| {
            let message = "a subscriber to this data panicked";
            DataError::new(ErrorTag::OperationFailed, message)
        })
    }

    /// The differences of a proposed state from its base.
    pub(in crate::tree) fn proposed_changes<'a>(&'a self, overlay: &'a Overlay) -> Comparison<'a> {
        Comparison::new(self.compiled(), self.id(), overlay, NewerState::Upper)
    }

    /// Lets subscribers add edits to a proposed state.
    pub(in crate::tree) fn propose_subscriber_edits(
        &self,
        overlay: &mut Overlay,
        touched: &mut TouchedResources,
    ) -> Result<()> {
        let Some(listeners) = self.store().subscriptions().listeners(self.id()) else {
            return Ok(());
        };
        let mut cached_diff: Option<Diff> = None;
        for listener in listeners.iter() {
            let editing = listener.subscriber().filter(|one| one.may_edit());
            let Some(subscriber) = editing else { continue };
            let comparison = self.proposed_changes(overlay);
            if !self.may_be_affected(listener, comparison)? {
                continue;
            }
            let diff = match cached_diff.take() {
                Some(diff) => diff,
                None => Diff::of(self.compiled(), comparison)?,
            };
            if !self.is_affected(listener, &diff) {
                cached_diff = Some(diff);
                continue;
            }
            let mut edits = Vec::new();
            self.call(subscriber, |one| one.update(&diff, &mut edits))?;
            if edits.is_empty() {
                cached_diff = Some(diff);
            } else {
                self.add_edits(overlay, touched, &edits)?;
            }
        }
        Ok(())
    }

    fn add_edits(
        &self,
        overlay: &mut Overlay,
        touched: &mut TouchedResources,
        edits: &[Edit],
    ) -> Result<()> {
        let mut applier = EditApplier::new(overlay, self.compiled(), self.id());
        applier.touched = std::mem::take(touched);
        *touched = applier.apply_all(edits)?;
        Ok(())
    }
}
