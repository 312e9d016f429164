//! The options of `<edit-config>` (RFC 6241 §7.2): testing an edit without making it, and going on
//! where a part of it is impossible.

use espalier_keyspace::Batch;
use espalier_yang::Errors;

use super::commit::{Commit, CommitOptions, Tree};
use super::edit::{Applying, Edit, Touched};
use super::settle::Proposal;
use super::validate::validate;
use crate::error::{Error, Result};
use crate::overlay::Overlay;

/// How often edits are chosen again when somebody else changed the datastore meanwhile.
const EDIT_CONFIG_TRIES_MAX: usize = 16;

/// `test-option` (RFC 6241 §7.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TestOption {
    /// Constraints are validated where the datastore must be valid at all times: in running always,
    /// in a candidate when it is committed.
    #[default]
    Set,
    /// Constraints are validated, in a candidate too, and nothing is done where one is broken.
    TestThenSet,
    /// Constraints are validated, and nothing is done.
    TestOnly,
}

/// `error-option` (RFC 6241 §7.2): what becomes of the other edits where one is impossible.
/// Constraints are not about one edit: where the outcome breaks one, nothing is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorOption {
    /// None is made.
    #[default]
    RollbackOnError,
    /// Those before it are made.
    StopOnError,
    /// All others are made.
    ContinueOnError,
}

/// What `<edit-config>` did.
#[derive(Clone, Debug, Default)]
pub struct EditReport {
    /// The commit; none where nothing was to be done.
    pub commit: Option<Commit>,
    /// The errors of the edits that were left out.
    pub errors: Errors,
}

impl Tree {
    /// Applies edits in order, as one atomic commit, with the options of `<edit-config>`.
    ///
    /// # Errors
    /// As [`Tree::commit`]; also where every edit is impossible. The errors of edits that were left
    /// out beside others that were made are in the report.
    pub fn edit_config(
        &self,
        edits: &[Edit],
        test: TestOption,
        on_error: ErrorOption,
        options: CommitOptions<'_>,
    ) -> Result<EditReport> {
        if on_error != ErrorOption::RollbackOnError {
            // Which edits are possible no commit tells.
            self.store().driver().catch_up()?;
        }
        let mut tries = 0;
        loop {
            tries += 1;
            let version = self.view()?.version()?;
            let (possible, errors) = self.possible(edits, on_error)?;
            if test != TestOption::Set {
                self.test(&possible, options)?;
            }
            if test == TestOption::TestOnly {
                let commit = None;
                return Ok(EditReport { commit, errors });
            }
            // The choice holds for the state that it was made on.
            let unmoved = |view: &super::View| match view.version()? == version {
                true => options.guard.map_or(Ok(()), |guard| guard(view)),
                false => Err(Error::Precondition),
            };
            let guard = (on_error != ErrorOption::RollbackOnError).then_some(&unmoved as _);
            let guarded = CommitOptions {
                guard: guard.or(options.guard),
                ..options
            };
            match self.commit(&possible, guarded) {
                Err(Error::Precondition)
                    if self.view()?.version()? != version && tries < EDIT_CONFIG_TRIES_MAX => {}
                result => {
                    let commit = Some(result?);
                    return Ok(EditReport { commit, errors });
                }
            }
        }
    }

    /// Validates what edits would make of the datastore, and makes nothing of it.
    ///
    /// # Errors
    /// Every error of the edits, or else every constraint that would be broken.
    pub fn test(&self, edits: &[Edit], options: CommitOptions<'_>) -> Result<()> {
        self.check_writable()?;
        // No commit follows that would tell whether it is still so.
        self.store().driver().catch_up()?;
        if let Some(guard) = options.guard {
            guard(&self.view()?)?;
        }
        let (overlay, touched) = self.applied(self.to_test()?, edits)?;
        let mut proposal = Proposal {
            overlay,
            touched,
            beside: Batch::new(),
        };
        if self.is_validated() || self.datastore().is_candidate() && self.is_constrained() {
            let effort = validate(self.compiled(), self.id(), &mut proposal)?;
            self.store().count_effort(effort);
        }
        Ok(())
    }

    /// The state that edits are tested on, as changes over what is valid.
    fn to_test(&self) -> Result<Overlay> {
        if self.datastore().is_candidate() {
            return self.candidate_over_running();
        }
        self.keep_indexes()?;
        Ok(Overlay::new(self.stored_view()?.into_snapshot()))
    }

    /// The edits that are possible, one after the other, and the errors of the others.
    fn possible(&self, edits: &[Edit], on_error: ErrorOption) -> Result<(Vec<Edit>, Errors)> {
        let (mut possible, mut errors) = (Vec::new(), Errors::new());
        if on_error == ErrorOption::RollbackOnError {
            return Ok((edits.to_vec(), errors));
        }
        let mut overlay = self.to_test()?;
        for edit in edits {
            let before = overlay.shared_changes();
            match self.applied(overlay, std::slice::from_ref(edit)) {
                Ok((after, _)) => {
                    overlay = after;
                    possible.push(edit.clone());
                }
                Err(Error::Data(refused)) => {
                    errors.append(refused);
                    if on_error == ErrorOption::StopOnError {
                        break;
                    }
                    overlay = self.to_test()?.replaced(before);
                }
                Err(error) => return Err(error),
            }
        }
        match possible.is_empty() {
            true => errors
                .into_result()
                .map(|()| Default::default())
                .map_err(Error::Data),
            false => Ok((possible, errors)),
        }
    }

    fn applied(&self, mut overlay: Overlay, edits: &[Edit]) -> Result<(Overlay, Touched)> {
        let mut applying = Applying::new(&mut overlay, self.compiled(), self.id());
        for edit in edits {
            applying.edit(edit)?;
        }
        let Applying {
            errors, touched, ..
        } = applying;
        errors.into_result()?;
        Ok((overlay, touched))
    }
}
