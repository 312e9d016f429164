//! The preconditions of a request, checked on the state that it changes.

use std::cell::RefCell;

use espalier_service::{BegunChange, ChangeNote};
use espalier_store::{CommitRun, Error, View};
use espalier_yang::{DataError, ErrorTag, InstancePath};
use http::StatusCode;

use super::change::Change;
use super::write_request::{Job, WriteResult};
use crate::restconf::conditions::Validators;
use crate::restconf::error::{Failure, Result};

/// Why a check failed that a guard of the store made.
#[derive(Default)]
pub(super) struct CheckFailure(RefCell<Option<Failure>>);

impl CheckFailure {
    /// The result of a check, for the store. Keeps its failure.
    pub(super) fn keep(&self, checked: Result<()>) -> espalier_store::Result<()> {
        checked.map_err(|failure| {
            self.0.replace(Some(failure));
            Error::Precondition
        })
    }

    /// The failure of the check if it caused the error of the store, otherwise that error.
    pub(super) fn explain(&self, error: Error) -> Failure {
        match (error, self.0.take()) {
            (Error::Precondition, Some(failure)) => failure,
            (error, _) => error.into(),
        }
    }
}

impl Job {
    /// Commits a change.
    pub(super) fn commit(&self, change: &Change) -> Result<WriteResult> {
        let check = |view: &View| change.failure.keep(self.check(change, view));
        let of = &self.target.of;
        match of.commit(&change.edits, self.note(change), Some(&check)) {
            Ok(commit) => self.result(change, &commit),
            Err(error) => Err(change.failed(error)),
        }
    }

    /// Begins [`Self::commit`]; see [`Tree::begin_commit`](espalier_store::Tree::begin_commit).
    pub(super) fn begin(&self, change: &Change, run: Option<&CommitRun>) -> Option<BegunChange> {
        let check = |view: &View| change.failure.keep(self.check(change, view));
        let of = &self.target.of;
        of.begin_commit(&change.edits, self.note(change), Some(&check), run)
    }

    /// Finishes a commit that was begun. `None` if it has to be made by [`Self::commit`].
    pub(super) fn finish(
        &self,
        change: &Change,
        begun: BegunChange,
    ) -> Option<Result<WriteResult>> {
        match self.target.of.finish_commit(&change.edits, begun) {
            Ok(commit) => Some(self.result(change, &commit?)),
            Err(error) => Some(Err(change.failed(error))),
        }
    }

    fn note<'n>(&'n self, change: &'n Change) -> ChangeNote<'n> {
        let own = change.comment.as_deref();
        ChangeNote {
            author: &self.author,
            comment: match self.who.comment.as_str() {
                "" => own.unwrap_or_default(),
                given => given,
            },
        }
    }

    /// The resource must exist (404) and meet the conditions (412).
    pub(super) fn check_existing(&self, view: &View) -> Result<()> {
        if !view.exists(self.path())? {
            return Err(self.not_found());
        }
        self.check_conditions(view, Presence::Exists)
    }

    /// The resource must meet the conditions of the headers (412).
    pub(super) fn check_conditions(&self, view: &View, presence: Presence) -> Result<()> {
        if self.conditions.is_empty() {
            return Ok(());
        }
        let current = match presence {
            Presence::Exists => {
                let shown = Validators::of_resource(view, self.path())?;
                Some(shown.unwrap_or_else(Validators::hidden))
            }
            Presence::Absent => None,
        };
        match self.conditions.allow_write(current.as_ref()) {
            true => Ok(()),
            false => Err(Failure::precondition()),
        }
    }

    /// The parent resource of `path` must exist (409).
    pub(super) fn check_parent(&self, view: &View, path: &InstancePath) -> Result<()> {
        match path.parent() {
            Some(parent) if !view.exists(&parent)? => {
                let message = "the node does not exist";
                let error = DataError::new(ErrorTag::DataMissing, message);
                Err(error
                    .at(parent.to_instance_identifier(self.schema()))
                    .into())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn not_found(&self) -> Failure {
        let schema = self.schema();
        let name = self.path().target().map(|node| schema.path(node));
        let name = name.unwrap_or_default();
        Failure::not_found(format!("there is no such instance of {name}"))
    }
}

/// Whether the written resource exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Exists,
    Absent,
}

impl Presence {
    /// Whether a resource has content.
    pub(super) fn of(view: &View, path: &InstancePath) -> Result<Self> {
        Ok(match view.has_content(path)? {
            true => Self::Exists,
            false => Self::Absent,
        })
    }

    /// The status of a PUT (RFC 8040 §4.5).
    pub(super) fn put_status(self) -> StatusCode {
        match self {
            Self::Exists => StatusCode::NO_CONTENT,
            Self::Absent => StatusCode::CREATED,
        }
    }
}
