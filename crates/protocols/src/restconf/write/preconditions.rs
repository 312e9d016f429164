//! The preconditions of a request, checked on the state that it changes.

use std::cell::RefCell;

use espalier_service::ChangeNote;
use espalier_store::{Commit, Edit, Error, View};
use espalier_yang::{DataError, ErrorTag, InstancePath};
use http::StatusCode;

use super::write_request::Job;
use crate::restconf::conditions::Validators;
use crate::restconf::error::{Failure, Result};

/// Adapts a check of this module to a guard of the store, and keeps its failure.
pub(super) struct PreconditionGuard<C> {
    check: C,
    failure: RefCell<Option<Failure>>,
}

impl<C: Fn(&View) -> Result<()>> PreconditionGuard<C> {
    pub(super) fn new(check: C) -> Self {
        Self {
            check,
            failure: RefCell::new(None),
        }
    }

    /// Runs the check. The store calls it again if it retries a commit.
    pub(super) fn check_view(&self, view: &View) -> espalier_store::Result<()> {
        (self.check)(view).map_err(|failure| {
            self.failure.replace(Some(failure));
            Error::Precondition
        })
    }

    /// The failure of the check if it caused the error of the store, otherwise that error.
    pub(super) fn explain(&self, error: Error) -> Failure {
        match (error, self.failure.take()) {
            (Error::Precondition, Some(failure)) => failure,
            (error, _) => error.into(),
        }
    }
}

impl Job {
    /// Commits one edit if `check` succeeds.
    pub(super) fn commit(&self, edit: Edit, check: impl Fn(&View) -> Result<()>) -> Result<Commit> {
        let guard = PreconditionGuard::new(check);
        let check_view = |view: &View| guard.check_view(view);
        let note = ChangeNote {
            author: &self.author,
            comment: &self.who.comment,
        };
        let committed = self.target.of.commit(&[edit], note, Some(&check_view));
        committed.map_err(|error| guard.explain(error))
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
