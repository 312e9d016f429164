//! Calls of subscribers during a commit.

use std::panic::{AssertUnwindSafe, catch_unwind};

use espalier_yang::{DataError, ErrorTag};

use super::subscriber::Subscriber;
use crate::error::Result;
use crate::overlay::Overlay;
use crate::store::Store;
use crate::tree::changes::{Comparison, Diff, Towards};
use crate::tree::commit::Tree;
use crate::tree::edit::{Applying, Edit, TouchedResources};

impl Tree {
    /// Calls a subscriber; a panic becomes an error.
    pub(super) fn call<T>(
        &self,
        subscriber: &dyn Subscriber,
        call: impl FnOnce(&dyn Subscriber) -> T,
    ) -> std::result::Result<T, DataError> {
        let lock = Store::lock_of(self.id());
        let _calling = self.store().subscriptions().calling(lock);
        catch_unwind(AssertUnwindSafe(|| call(subscriber))).map_err(|_| {
            let message = "a subscriber to this data panicked";
            DataError::new(ErrorTag::OperationFailed, message)
        })
    }

    /// The differences of a proposed state from its base.
    pub(super) fn proposed<'a>(&'a self, overlay: &'a Overlay) -> Comparison<'a> {
        Comparison::new(self.compiled(), self.id(), overlay, Towards::Upper)
    }

    /// Lets subscribers add edits to a proposed state.
    pub(in crate::tree) fn let_subscribers_edit(
        &self,
        overlay: &mut Overlay,
        touched: &mut TouchedResources,
    ) -> Result<()> {
        let Some(listeners) = self.store().subscriptions().listeners(self.id()) else {
            return Ok(());
        };
        let mut known: Option<Diff> = None;
        for listener in listeners.iter() {
            let editing = listener.subscriber().filter(|one| one.may_edit());
            let Some(subscriber) = editing else { continue };
            let comparison = self.proposed(overlay);
            if !self.is_interested(listener, comparison)? {
                continue;
            }
            let diff = match known.take() {
                Some(diff) => diff,
                None => Diff::of(self.compiled(), comparison)?,
            };
            if !self.is_told(listener, &diff) {
                known = Some(diff);
                continue;
            }
            let mut edits = Vec::new();
            self.call(subscriber, |one| one.update(&diff, &mut edits))?;
            if edits.is_empty() {
                known = Some(diff);
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
        let mut applying = Applying::new(overlay, self.compiled(), self.id());
        applying.touched = std::mem::take(touched);
        for edit in edits {
            applying.edit(edit)?;
        }
        let Applying {
            errors,
            touched: all,
            ..
        } = applying;
        *touched = all;
        errors.into_result()?;
        Ok(())
    }
}
