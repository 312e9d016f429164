//! What a request presumes about the state that it changes.

use std::cell::RefCell;

use espalier_store::{Commit, CommitOptions, Edit, Error, View};
use espalier_yang::{DataError, ErrorTag, InstancePath};
use http::StatusCode;

use super::job::Job;
use crate::restconf::conditions::Validators;
use crate::restconf::error::{Failure, Result};

/// The store's guard, made of a check that fails in our way.
pub(super) struct Guard<C> {
    check: C,
    refusal: RefCell<Option<Failure>>,
}

impl<C: Fn(&View) -> Result<()>> Guard<C> {
    pub(super) fn new(check: C) -> Self {
        Self {
            check,
            refusal: RefCell::new(None),
        }
    }

    /// To be called by the store; may be called again where a commit is tried again.
    pub(super) fn examine(&self, view: &View) -> espalier_store::Result<()> {
        (self.check)(view).map_err(|failure| {
            self.refusal.replace(Some(failure));
            Error::Precondition
        })
    }

    /// Why the store failed, or why the check made it fail.
    pub(super) fn explain(&self, error: Error) -> Failure {
        match (error, self.refusal.take()) {
            (Error::Precondition, Some(failure)) => failure,
            (error, _) => error.into(),
        }
    }
}

impl Job {
    /// Commits one edit, if `check` allows it.
    pub(super) fn commit(&self, edit: Edit, check: impl Fn(&View) -> Result<()>) -> Result<Commit> {
        let guard = Guard::new(check);
        let examine = |view: &View| guard.examine(view);
        let options = CommitOptions {
            author: &self.author,
            comment: &self.who.comment,
            session: &self.who.session,
            guard: Some(&examine),
            ..CommitOptions::default()
        };
        let committed = self.target.tree.commit(&[edit], options);
        committed.map_err(|error| guard.explain(error))
    }

    /// The resource exists (404), and the conditions hold for it (412).
    pub(super) fn check_existing(&self, view: &View) -> Result<()> {
        if !view.exists(self.path())? {
            return Err(self.missing());
        }
        self.check_conditions(view, Presence::Exists)
    }

    /// The conditions of the headers hold for the resource (412).
    pub(super) fn check_conditions(&self, view: &View, presence: Presence) -> Result<()> {
        if self.conditions.is_empty() {
            return Ok(());
        }
        let current = match presence {
            Presence::Exists => Some(Validators::of(&view.stamp(self.path())?)),
            Presence::Absent => None,
        };
        match self.conditions.hold_for_write(current.as_ref()) {
            true => Ok(()),
            false => Err(Failure::precondition()),
        }
    }

    /// The resource that is to hold `path` exists (409).
    pub(super) fn check_parent(&self, view: &View, path: &InstancePath) -> Result<()> {
        match path.parent() {
            Some(parent) if !view.exists(&parent)? => {
                let message = "the resource that is to hold this one does not exist";
                let error = DataError::new(ErrorTag::DataMissing, message);
                Err(error
                    .at(parent.to_instance_identifier(self.schema()))
                    .into())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn missing(&self) -> Failure {
        let schema = self.schema();
        let name = self.path().target().map(|node| schema.path(node));
        let name = name.unwrap_or_default();
        Failure::not_found(format!("there is no such instance of {name}"))
    }
}

/// Whether the resource that is written exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Exists,
    Absent,
}

impl Presence {
    /// Whether a resource holds anything.
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
