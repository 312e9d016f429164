//! Ends sessions.

use std::collections::BTreeSet;

use espalier_keyspace::tuple::{self, Element};
use espalier_keyspace::{Batch, Direction, KeyRange, Snapshot};

use super::record::{LockRecord, Locks};
use crate::error::{Error, Result};
use crate::keys::anchor_prefix;
use crate::store::Store;
use crate::subspace::Subspace;
use crate::tree::{Datastore, Tree};

impl Store {
    /// Ends a session: releases its locks, deletes its private candidates, discards the changes of the
    /// candidate that it had locked (RFC 6241 §8.3.5.2), and rolls back its confirmed commits that do not
    /// persist.
    pub fn end_session(&self, session: &str) -> Result<()> {
        if session.is_empty() {
            return Ok(());
        }
        for tree in self.locked_trees()? {
            tree.end_session(session)?;
        }
        self.delete_private_candidates(session)
    }

    /// The names of the sessions that hold something: a lock, a partial lock, a confirmed commit that does not persist, a
    /// private candidate. Those of [`Self::end_session`].
    ///
    /// # Errors
    /// Those of the engine.
    pub fn session_names(&self) -> Result<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        for tree in self.locked_trees()? {
            let Locks {
                lock,
                partial,
                pending,
            } = tree.locks()?;
            names.extend(lock.map(|lock| lock.session));
            names.extend(partial.into_iter().map(|lock| lock.session));
            let pending = pending.filter(|pending| pending.persist.is_none());
            names.extend(pending.map(|pending| pending.session));
        }
        let snapshot = self.driver().snapshot()?;
        let candidates = private_candidates(&*snapshot, &Subspace::Candidate.range())?;
        names.extend(candidates.into_iter().map(|(session, _)| session));
        Ok(names)
    }

    /// The datastores with a lock or a pending commit.
    pub(in crate::tree) fn locked_trees(&self) -> Result<Vec<Tree>> {
        let snapshot = self.driver().snapshot()?;
        let range = Subspace::Locks.range();
        let mut cursor = snapshot.scan(&range, Direction::Forward)?;
        let mut rows = Vec::new();
        while let Some((key, value)) = cursor.next()? {
            let mut rest = &key[1..];
            tuple::take(&mut rest)?;
            let Some((&number, rest)) = rest.split_first() else {
                return Err(Error::corrupt("a row of locks names no datastore"));
            };
            rows.push((LockRecord::decode(value)?.anchor, number, session_of(rest)?));
        }
        drop(cursor);
        let mut trees = Vec::new();
        for (anchor, number, session) in rows {
            let all = Datastore::ALL.into_iter();
            let mut datastore = all.filter(|datastore| datastore.id() == number);
            let Some(datastore) = datastore.next() else {
                continue;
            };
            if let Some((row, compiled)) = self.anchor_at(&*snapshot, &anchor)? {
                trees.push(Tree::new(self.clone(), row, compiled, datastore, &session));
            }
        }
        Ok(trees)
    }

    fn delete_private_candidates(&self, session: &str) -> Result<()> {
        let snapshot = self.driver().snapshot()?;
        let mut batch = Batch::new();
        let candidates = Subspace::Candidate.range();
        for (name, prefix) in private_candidates(&*snapshot, &candidates)? {
            if name == session {
                batch.delete_range(KeyRange::prefix(&prefix));
            }
        }
        drop(snapshot);
        if !batch.is_empty() {
            self.driver().commit(batch)?;
        }
        Ok(())
    }
}

/// The private candidates in a range: the session and key prefix of each.
fn private_candidates(snapshot: &dyn Snapshot, range: &KeyRange) -> Result<Vec<(String, Vec<u8>)>> {
    let mut cursor = snapshot.scan(range, Direction::Forward)?;
    let mut found = Vec::new();
    while let Some((key, _)) = cursor.next()? {
        let mut rest = &key[1..];
        tuple::take(&mut rest)?;
        let Some((&number, mut rest)) = rest.split_first() else {
            return Err(Error::corrupt("a row of a candidate names no datastore"));
        };
        let is_private = number == Datastore::PrivateCandidate.id();
        let name = rest;
        if is_private {
            tuple::skip(&mut rest)?;
        }
        let prefix = key[..key.len() - rest.len()].to_vec();
        if is_private {
            let session = session_of(&name[..name.len() - rest.len()])?;
            found.push((session, prefix.clone()));
        }
        match KeyRange::prefix(&prefix).end {
            Some(next) => cursor.seek(&next)?,
            None => break,
        }
    }
    Ok(found)
}

/// The session name after the number of a private candidate; empty for other datastores.
fn session_of(mut rest: &[u8]) -> Result<String> {
    if rest.is_empty() {
        return Ok(String::new());
    }
    match tuple::take(&mut rest)? {
        Element::Bytes(name) => String::from_utf8(name)
            .map_err(|_| Error::corrupt("the name of a session is not UTF-8")),
        _ => Err(Error::corrupt("a row of locks names no session")),
    }
}

impl Tree {
    /// The private candidates based on running.
    pub(crate) fn private_candidates(&self) -> Result<Vec<Self>> {
        let snapshot = self.store().driver().snapshot()?;
        let range = KeyRange::prefix(&anchor_prefix(Subspace::Candidate, self.id().anchor));
        private_candidates(&*snapshot, &range)?
            .iter()
            .map(|(session, _)| self.sibling_datastore(Datastore::PrivateCandidate, session))
            .collect()
    }

    fn end_session(&self, session: &str) -> Result<()> {
        self.discard_locked(|lock| lock.session == session)?;
        let pending = self.locks()?.pending;
        if pending.is_some_and(|pending| pending.session == session && pending.persist.is_none()) {
            self.roll_back_pending("the session of a confirmed commit ended")?;
        }
        self.update_lock_record(&mut |_, _, lock_record| {
            if lock_record
                .locks
                .lock
                .as_ref()
                .is_some_and(|lock| lock.session == session)
            {
                lock_record.locks.lock = None;
            }
            lock_record
                .locks
                .partial
                .retain(|partial| partial.session != session);
            Ok(())
        })
    }
}
