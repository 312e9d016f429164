//! The effect of a commit on a pending confirmed commit.

use std::time::Duration;

use espalier_yang::{DataError, ErrorTag};

use super::commit::ConfirmOptions;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::tree::Tree;
use crate::tree::lock::{LockRecord, PendingCommit, TimeoutStart};

/// The app-tag of errors caused by a timed-out pending commit.
const OVERDUE: &str = "confirmed-commit-overdue";

/// The effect of a commit on a pending confirmed commit.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tree) enum ConfirmEffect<'a> {
    /// An edit of running: confirms the pending commit, unless that persists beyond its session (RFC 8040
    /// §1.4).
    #[default]
    Edit,
    /// A commit of a candidate.
    Commit(ConfirmOptions<'a>),
    /// The rollback of the pending commit.
    Rollback,
}

/// Whether a commit failed because a pending one must be rolled back first.
pub(in crate::tree) fn is_overdue(error: &Error) -> bool {
    let Error::Data(errors) = error else {
        return false;
    };
    errors
        .iter()
        .any(|error| error.app_tag.as_deref() == Some(OVERDUE))
}

impl ConfirmEffect<'_> {
    /// Updates the lock record of running for the commit `last + 1`.
    pub fn apply(
        self,
        tree: &Tree,
        lock_record: &mut LockRecord,
        session: &str,
        last: u64,
    ) -> Result<()> {
        let clock = tree.store().clock();
        if let Some(pending) = &lock_record.locks.pending
            && pending.remaining(clock).is_zero()
            && !matches!(self, Self::Rollback)
        {
            let message = "a confirmed commit has timed out and is being rolled back";
            return Err(DataError::new(ErrorTag::InUse, message)
                .with_app_tag(OVERDUE)
                .into());
        }
        match self {
            Self::Rollback => lock_record.locks.pending = None,
            Self::Edit => match &lock_record.locks.pending {
                Some(pending) if pending.persist.is_some() => return Err(in_use(pending).into()),
                _ => lock_record.locks.pending = None,
            },
            Self::Commit(confirmed) => {
                lock_record.locks.pending = confirmed.next(lock_record, session, clock, last)?;
            }
        }
        Ok(())
    }
}

impl ConfirmOptions<'_> {
    /// The pending commit after this one.
    fn next(
        self,
        lock_record: &LockRecord,
        session: &str,
        clock: &dyn Clock,
        last: u64,
    ) -> Result<Option<PendingCommit>> {
        let pending = lock_record.locks.pending.as_ref();
        match pending {
            Some(pending) => check_owner(pending, self.persist_id, session)?,
            None if self.persist_id.is_some() => return Err(no_such().into()),
            None => {}
        }
        let Some(timeout) = self.timeout else {
            return Ok(None);
        };
        let timing = TimeoutStart::now(clock);
        let old_persist = pending.and_then(|pending| pending.persist.as_deref());
        Ok(Some(PendingCommit {
            session: session.to_owned(),
            deadline: timing.begun.plus(Duration::from_secs(timeout.into())),
            timing: Some(timing),
            restores: pending.map_or(last, |pending| pending.restores),
            persist: self.persist.or(old_persist).map(str::to_owned),
        }))
    }
}

/// Fails unless a session may confirm or cancel the pending commit.
pub(super) fn check_owner(
    pending: &PendingCommit,
    persist_id: Option<&str>,
    session: &str,
) -> Result<()> {
    match (persist_id, pending.persist.as_deref()) {
        (Some(given), Some(persist)) if given == persist => Ok(()),
        (Some(_), _) => Err(no_such().into()),
        (None, None) if pending.session == session => Ok(()),
        (None, _) => Err(in_use(pending).into()),
    }
}

fn no_such() -> DataError {
    let message = "no confirmed commit with this persist-id is pending";
    DataError::new(ErrorTag::InvalidValue, message)
}

fn in_use(pending: &PendingCommit) -> DataError {
    let how = match pending.persist {
        Some(_) => "confirm or cancel it with its persist-id",
        None => "its session must confirm or cancel it",
    };
    let owner = match pending.session.as_str() {
        "" => String::new(),
        session => format!(" of session “{session}”"),
    };
    let message =
        format!("a confirmed commit{owner} is pending: {how}, or wait until it is rolled back");
    DataError::new(ErrorTag::InUse, message)
}
