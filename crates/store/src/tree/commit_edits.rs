//! Editing a datastore: the edits of a commit become a proposal.

use std::borrow::Cow;

use espalier_keyspace::{Batch, PrefetchList};
use espalier_yang::ErrorTag;

use super::authorise::authorise_named_nodes;
use super::commit_options::{Commit, CommitOptions};
use super::confirm::ConfirmEffect;
use super::datastore::Datastore;
use super::edit::{Edit, EditApplier, TouchScope};
use super::operational::edits_from_root;
use super::prefetch::expect_edit_reads;
use super::proposal::Proposal;
use super::tree::Tree;
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
        let (edits, touch_scope) = match self.datastore() {
            // Parts of the operational state have no stamps.
            Datastore::Operational => (
                edits_from_root(self.schema(), edits),
                TouchScope::DatastoreOnly,
            ),
            _ => (Cow::Borrowed(edits), TouchScope::EveryResource),
        };
        let of = (&**self.compiled(), self.id());
        let expect = |expected: &mut PrefetchList| expect_edit_reads(&edits, of, expected);
        self.propose_and_commit_with(options, ConfirmEffect::Edit, &expect, &mut |view| {
            let mut overlay = Overlay::new(view.into_snapshot());
            let applier = EditApplier::new(&mut overlay, self.compiled(), self.id());
            let mut applier = applier.with_touch_scope(touch_scope);
            for edit in edits.iter() {
                applier.edit(edit)?;
            }
            let EditApplier {
                errors, touched, ..
            } = applier;
            errors.into_result()?;
            Ok(Proposal {
                overlay,
                touched,
                extra: Batch::new(),
            })
        })
    }
}
