//! Editing a datastore: the edits of a commit become a proposal.

use std::borrow::Cow;

use espalier_keyspace::{Batch, PrefetchList};
use espalier_yang::ErrorTag;

use super::authorise::authorise_named_nodes;
use super::commit_options::{Commit, CommitOptions};
use super::commit_pipeline::BegunCommit;
use super::confirm::ConfirmEffect;
use super::datastore::Datastore;
use super::edit::{Edit, EditApplier, TouchScope};
use super::operational::edits_from_root;
use super::prefetch::expect_edit_reads;
use super::proposal::Proposal;
use super::tree::Tree;
use super::view::View;
use crate::commit_run::CommitRun;
use crate::error::{Error, Result};
use crate::overlay::Overlay;

impl Tree {
    /// Applies edits in order, as one atomic commit.
    ///
    /// # Errors
    /// [`Error::Data`] with every error of the edits, any error of the guard, or an error of the engine.
    /// Nothing is changed then.
    pub fn commit(&self, edits: &[Edit], options: CommitOptions<'_>) -> Result<Commit> {
        self.check_writable()?;
        authorise_named_nodes(options.access, self.schema(), edits)?;
        if let Some(message) = self.datastore().edits_rejected() {
            return Err(Error::data(ErrorTag::OperationNotSupported, message));
        }
        if self.datastore().is_candidate() {
            return self.edit_candidate(edits, options);
        }
        let (edits, touch_scope) = self.scoped(edits);
        let of = (&**self.compiled(), self.id());
        let expect = |expected: &mut PrefetchList| expect_edit_reads(&edits, of, expected);
        self.propose_and_commit_with(options, ConfirmEffect::Edit, &expect, &mut |view| {
            self.propose_edits(view, &edits, touch_scope)
        })
    }

    /// Begins [`Self::commit`] without waiting for other threads or for the engine to write: the commit is decided, and
    /// written by [`Self::finish_commit`]. So one thread can decide many commits that are then written together.
    ///
    /// `None` if that is not possible at once, as if another thread decides a commit, a subscriber takes part in commits,
    /// or the commit is large: then [`Self::commit`] makes it. Before that, and before it waits for any other commit to
    /// the same store, the thread must have finished all commits that it has begun, in order.
    ///
    /// If it is of a run ([`Self::begin_run`]), it is decided on the snapshot of the run.
    pub fn begin_commit(
        &self,
        edits: &[Edit],
        options: CommitOptions<'_>,
        run: Option<&CommitRun>,
    ) -> Option<BegunCommit> {
        let is_edited = self.check_writable().is_ok()
            && self.datastore().edits_rejected().is_none()
            && !self.datastore().is_candidate()
            && self.check_not_in_subscriber_call().is_ok()
            && authorise_named_nodes(options.access, self.schema(), edits).is_ok();
        if !is_edited {
            return None;
        }
        let (edits, touch_scope) = self.scoped(edits);
        let of = (&**self.compiled(), self.id());
        let expect = |expected: &mut PrefetchList| expect_edit_reads(&edits, of, expected);
        self.propose_and_begin(options, &expect, run, &mut |view| {
            self.propose_edits(view, &edits, touch_scope)
        })
    }

    /// Lists what a commit of edits will read, for [`Self::begin_run`].
    pub fn expect_reads(&self, edits: &[Edit], expected: &mut PrefetchList) {
        let (edits, _) = self.scoped(edits);
        expect_edit_reads(&edits, (&**self.compiled(), self.id()), expected);
    }

    /// Waits until a commit is written that this thread began. `None` if it has to be made by [`Self::commit`], because
    /// it failed by the fault of others.
    ///
    /// # Errors
    /// Those of [`Self::commit`].
    pub fn finish_commit(&self, pending: BegunCommit) -> Result<Option<Commit>> {
        self.or_replaced_modules(pending.settle())
    }

    /// The edits as they are applied, and which resources are stamped.
    fn scoped<'e>(&self, edits: &'e [Edit]) -> (Cow<'e, [Edit]>, TouchScope) {
        match self.datastore() {
            // Parts of the operational state have no stamps.
            Datastore::Operational => (
                edits_from_root(self.schema(), edits),
                TouchScope::DatastoreOnly,
            ),
            _ => (Cow::Borrowed(edits), TouchScope::EveryResource),
        }
    }

    fn propose_edits(&self, view: View, edits: &[Edit], scope: TouchScope) -> Result<Proposal> {
        let mut overlay = Overlay::new(view.into_snapshot());
        let applier = EditApplier::new(&mut overlay, self.compiled(), self.id());
        let touched = applier.with_touch_scope(scope).apply_all(edits)?;
        Ok(Proposal {
            overlay,
            touched,
            extra: Batch::new(),
        })
    }
}
