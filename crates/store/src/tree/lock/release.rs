//! Releases and breaks locks.

use espalier_yang::ErrorTag;

use super::check::owns;
use super::record::{Lock, Locks};
use crate::error::{Error, Result};
use crate::tree::{CommitOptions, Datastore, Tree};

impl Tree {
    /// All locks of the datastore.
    pub fn locks(&self) -> Result<Locks> {
        let snapshot = self.store().driver().snapshot()?;
        Ok(self.lock_record(&*snapshot)?.locks)
    }

    /// Releases the lock of a session. The changes of a candidate are discarded (RFC 6241 §8.3.5.2).
    ///
    /// # Errors
    /// `operation-failed` if the session does not own the lock.
    pub fn unlock(&self, session: &str) -> Result<()> {
        self.discard_locked(|lock| owns(&lock.session, session))?;
        self.update_lock_record(&mut |tree, _, lock_record| match &lock_record.locks.lock {
            Some(lock) if owns(&lock.session, session) => {
                lock_record.locks.lock = None;
                Ok(())
            }
            Some(lock) => Err(failed(format!(
                "{} is locked by session “{}”, not by this one; “espalier unlock --force” breaks the lock",
                tree.datastore().name(),
                lock.session
            ))),
            None => Err(failed(format!(
                "{} is not locked as a whole; “espalier locks” lists partial locks, “espalier unlock --id N” releases one",
                tree.datastore().name()
            ))),
        })
    }

    /// As [`Self::unlock`], whichever session owns the lock; without a lock, nothing is done.
    pub fn break_lock(&self) -> Result<()> {
        self.discard_locked(|_| true)?;
        self.update_lock_record(&mut |_, _, lock_record| {
            lock_record.locks.lock = None;
            Ok(())
        })
    }

    /// Discards the changes of a candidate with such a lock. They all are of the lock's owner: a candidate with
    /// changes cannot be locked, and others cannot change it then.
    pub(super) fn discard_locked(&self, is_released: impl Fn(&Lock) -> bool) -> Result<()> {
        let lock = match self.datastore() {
            Datastore::Candidate => self.locks()?.lock,
            _ => None,
        };
        lock.filter(|lock| is_released(lock))
            .map_or(Ok(()), |lock| {
                self.discard(CommitOptions {
                    session: &lock.session,
                    ..CommitOptions::default()
                })
            })
    }

    /// Releases a partial lock of a session.
    ///
    /// # Errors
    /// `invalid-value` if there is no partial lock with this number, or if it belongs to another session.
    pub fn partial_unlock(&self, id: u32, session: &str) -> Result<()> {
        self.update_lock_record(&mut |_, _, lock_record| {
            let partial = lock_record.locks.partial.iter().find(|partial| partial.id == id);
            match partial {
                None => Err(no_such(id)),
                // RFC 5717 §2.4.2.
                Some(partial) if !owns(&partial.session, session) => Err(Error::data(
                    ErrorTag::InvalidValue,
                    format!(
                        "the partial lock {id} belongs to session “{}”; “espalier unlock --force --id {id}” breaks it",
                        partial.session
                    ),
                )),
                Some(_) => {
                    lock_record.locks.partial.retain(|partial| partial.id != id);
                    Ok(())
                }
            }
        })
    }

    /// Removes a partial lock, whichever session owns it.
    ///
    /// # Errors
    /// `invalid-value` if there is no partial lock with this number.
    pub fn break_partial_lock(&self, id: u32) -> Result<()> {
        self.update_lock_record(&mut |_, _, lock_record| {
            let before = lock_record.locks.partial.len();
            lock_record.locks.partial.retain(|partial| partial.id != id);
            match lock_record.locks.partial.len() < before {
                true => Ok(()),
                false => Err(no_such(id)),
            }
        })
    }
}

fn no_such(id: u32) -> Error {
    Error::data(
        ErrorTag::InvalidValue,
        format!("there is no partial lock {id}"),
    )
}

fn failed(message: String) -> Error {
    Error::data(ErrorTag::OperationFailed, message)
}
