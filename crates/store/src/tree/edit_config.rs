//! The options of `<edit-config>` (RFC 6241 §7.2): testing an edit without committing it, and continuing
//! after an error.

use espalier_keyspace::{Batch, ConflictRetry, retry_conflicts};
use espalier_yang::Errors;

use super::authorise::authorise_named_nodes;
use super::commit_options::{Commit, CommitOptions};
use super::edit::{Edit, EditApplier, TouchedResources};
use super::proposal::Proposal;
use super::tree::Tree;
use super::validate::validate;
use crate::access::AccessTable;
use crate::error::{Error, Result};
use crate::overlay::Overlay;

/// `test-option` (RFC 6241 §7.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TestOption {
    /// Constraints are validated when the datastore must be valid: in running always, in a candidate at its
    /// commit.
    #[default]
    Set,
    /// Constraints are validated, also in a candidate; nothing is written if one is violated.
    TestThenSet,
    /// Constraints are validated; nothing is written.
    TestOnly,
}

/// `error-option` (RFC 6241 §7.2): what happens to the other edits if one fails. Constraints concern the
/// result as a whole: if one is violated, nothing is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorOption {
    /// No edit is applied.
    #[default]
    RollbackOnError,
    /// The edits before the failed one are applied.
    StopOnError,
    /// All other edits are applied.
    ContinueOnError,
}

/// The result of `<edit-config>`.
#[derive(Clone, Debug, Default)]
pub struct EditReport {
    /// The commit; none for a test.
    pub commit: Option<Commit>,
    /// The errors of the edits that failed.
    pub errors: Errors,
}

impl Tree {
    /// Applies edits in order, as one atomic commit, with the options of `<edit-config>`.
    ///
    /// # Errors
    /// As [`Tree::commit`]; also if every edit fails. If some edits fail and others are applied, the report
    /// contains the errors.
    pub fn edit_config(
        &self,
        edits: &[Edit],
        test: TestOption,
        on_error: ErrorOption,
        options: CommitOptions<'_>,
    ) -> Result<EditReport> {
        authorise_named_nodes(options.access, self.schema(), edits)?;
        if on_error != ErrorOption::RollbackOnError {
            // The choice of edits is not verified by a commit.
            self.store().driver().catch_up()?;
        }
        retry_conflicts(ConflictRetry::new(), |_| {
            let version = self.view()?.version()?;
            let (applicable, errors) = self.applicable_edits(edits, on_error)?;
            if test != TestOption::Set {
                self.test(&applicable, options)?;
            }
            if test == TestOption::TestOnly {
                let commit = None;
                return Ok(EditReport { commit, errors });
            }
            // The choice is valid only for the version that it was made on.
            let version_unchanged = |view: &super::View| match view.version()? == version {
                true => options.guard.map_or(Ok(()), |guard| guard(view)),
                false => Err(Error::Precondition),
            };
            let guard =
                (on_error != ErrorOption::RollbackOnError).then_some(&version_unchanged as _);
            let guarded = CommitOptions {
                guard: guard.or(options.guard),
                ..options
            };
            match self.commit(&applicable, guarded) {
                Err(Error::Precondition) if self.view()?.version()? != version => {
                    Err(espalier_keyspace::Error::conflict(&self.tree_key()).into())
                }
                result => {
                    let commit = Some(result?);
                    Ok(EditReport { commit, errors })
                }
            }
        })
    }

    /// Validates the result of edits without committing it.
    ///
    /// # Errors
    /// Every error of the edits; if there is none, every violated constraint.
    pub fn test(&self, edits: &[Edit], options: CommitOptions<'_>) -> Result<()> {
        self.check_writable()?;
        // No commit follows that would verify that this state is the newest.
        self.store().driver().catch_up()?;
        if let Some(guard) = options.guard {
            guard(&self.view()?.with_access(options.access.cloned()))?;
        }
        let (overlay, touched) = self.applied(self.test_base()?, edits)?;
        let mut proposal = Proposal {
            overlay,
            touched,
            extra: Batch::new(),
        };
        if let Some(access) = options.access.filter(|access| !access.writes_all()) {
            self.authorise_test(access, &proposal.overlay, edits)?;
        }
        if self.is_validated() || self.datastore().is_candidate() && self.is_constrained() {
            let effort = validate(self.compiled(), self.id(), &mut proposal)?;
            self.store().count_effort(effort);
        }
        Ok(())
    }

    /// Requires that rules allow the edits that led to a tested state. Those of a candidate are judged by its content.
    fn authorise_test(&self, access: &AccessTable, tested: &Overlay, edits: &[Edit]) -> Result<()> {
        if !self.datastore().is_candidate() {
            return self.authorise_changes(Some(access), self.proposed_changes(tested));
        }
        let (overlay, _) = self.applied(Overlay::over(self.test_base()?), edits)?;
        self.authorise_changes(Some(access), self.proposed_changes(&overlay))
    }

    /// The state that edits are tested on, as changes over a valid state.
    fn test_base(&self) -> Result<Overlay> {
        if self.datastore().is_candidate() {
            return self.candidate_over_running();
        }
        self.ensure_indexes()?;
        Ok(Overlay::new(self.stored_view()?.into_snapshot()))
    }

    /// Applies the edits one by one; returns those that succeed and the errors of the others.
    fn applicable_edits(
        &self,
        edits: &[Edit],
        on_error: ErrorOption,
    ) -> Result<(Vec<Edit>, Errors)> {
        let (mut applicable, mut errors) = (Vec::new(), Errors::new());
        if on_error == ErrorOption::RollbackOnError {
            return Ok((edits.to_vec(), errors));
        }
        let mut overlay = self.test_base()?;
        for edit in edits {
            let before = overlay.savepoint();
            match self.applied(overlay, std::slice::from_ref(edit)) {
                Ok((after, _)) => {
                    overlay = after;
                    applicable.push(edit.clone());
                }
                Err(Error::Data(refused)) => {
                    errors.append(refused);
                    if on_error == ErrorOption::StopOnError {
                        break;
                    }
                    overlay = self.test_base()?.replaced(before);
                }
                Err(error) => return Err(error),
            }
        }
        match applicable.is_empty() {
            true => errors
                .into_result()
                .map(|()| Default::default())
                .map_err(Error::Data),
            false => Ok((applicable, errors)),
        }
    }

    fn applied(&self, mut overlay: Overlay, edits: &[Edit]) -> Result<(Overlay, TouchedResources)> {
        let applier = EditApplier::new(&mut overlay, self.compiled(), self.id());
        let touched = applier.apply_all(edits)?;
        Ok((overlay, touched))
    }
}
