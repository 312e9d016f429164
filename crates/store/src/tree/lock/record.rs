//! The stored record of a datastore's locks.

use std::time::Duration;

use espalier_keyspace::{Batch, Snapshot, tuple};

use crate::clock::{Clock, Timestamp, Uptime};
use crate::error::{Error, Result};
use crate::fragment::{put_varint, take_varint};
use crate::keys::{TreeId, anchor_prefix};
use crate::subspace::Subspace;
use crate::tree::{Datastore, Tree};

/// A lock of a whole datastore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// The session that owns it.
    pub session: String,
    /// When it was acquired.
    pub time: Timestamp,
}

/// A lock of some subtrees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialLock {
    /// Its number, unique in the datastore.
    pub id: u32,
    /// The session that owns it.
    pub session: String,
    /// When it was acquired.
    pub time: Timestamp,
    /// The nodes, as instance identifiers.
    pub paths: Vec<String>,
    /// The keys of the nodes without the prefix of the tree.
    pub(in crate::tree) keys: Vec<Vec<u8>>,
}

/// A confirmed commit that is rolled back unless it is confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingCommit {
    /// The session that committed it.
    pub session: String,
    /// When it is rolled back, by the wall clock of the process that committed it.
    pub deadline: Timestamp,
    /// How the remaining time is measured; none if an earlier version of this program made the commit.
    pub timing: Option<TimeoutStart>,
    /// The version that a rollback restores.
    pub restores: u64,
    /// The persist-id, with which any session may confirm it; it then outlives its own session.
    pub persist: Option<String>,
}

impl PendingCommit {
    /// The time until the rollback. On the machine that made the commit, until a restart, it is measured by
    /// the uptime, independently of the wall clock. Otherwise by the wall clock, limited to the original
    /// timeout.
    pub(in crate::tree) fn remaining(&self, clock: &dyn Clock) -> Duration {
        let left = self.deadline.since(clock.now());
        let Some(TimeoutStart { begun, uptime }) = &self.timing else {
            return left;
        };
        let timeout = self.deadline.since(*begun);
        match (uptime, clock.uptime()) {
            (Some(then), Some(now)) if then.boot == now.boot => {
                timeout.saturating_sub(now.elapsed.saturating_sub(then.elapsed))
            }
            _ => left.min(timeout),
        }
    }

    /// Whether the elapsed time is unknown: the wall clock is before the start of the timeout.
    pub(in crate::tree) fn is_clock_behind(&self, clock: &dyn Clock) -> bool {
        let Some(TimeoutStart { begun, uptime }) = &self.timing else {
            return false;
        };
        let boots = (
            uptime.map(|then| then.boot),
            clock.uptime().map(|now| now.boot),
        );
        let is_same_boot = boots.0.is_some() && boots.0 == boots.1;
        !is_same_boot && begun.is_ahead_of(clock.now())
    }

    /// The same commit with its timeout restarted.
    pub(in crate::tree) fn restarted(mut self, clock: &dyn Clock) -> Self {
        let begun = self.timing.map_or(self.deadline, |timing| timing.begun);
        let timeout = self.deadline.since(begun);
        let timing = TimeoutStart::now(clock);
        self.deadline = timing.begun.plus(timeout);
        self.timing = Some(timing);
        self
    }
}

impl TimeoutStart {
    /// Starts now.
    pub(in crate::tree) fn now(clock: &dyn Clock) -> Self {
        Self {
            begun: clock.now(),
            uptime: clock.uptime(),
        }
    }
}

/// The start of a confirmed commit's timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeoutStart {
    /// By the wall clock.
    pub begun: Timestamp,
    /// The uptime of the machine, if known.
    pub uptime: Option<Uptime>,
}

/// All locks of a datastore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locks {
    /// The lock of the whole datastore.
    pub lock: Option<Lock>,
    /// The partial locks.
    pub partial: Vec<PartialLock>,
    /// The pending confirmed commit.
    pub pending: Option<PendingCommit>,
}

// One row, so that a lock counts in every process for one read: docs/decisions/0011.
/// The stored row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::tree) struct LockRecord {
    /// The row of the anchor in the catalog.
    pub anchor: Vec<u8>,
    /// The number of the last partial lock.
    pub last_partial: u32,
    pub locks: Locks,
    /// The row as read.
    pub stored: Option<Vec<u8>>,
}

/// The tag of each item in a row.
const LOCK: u8 = 1;
const PARTIAL: u8 = 2;
const PENDING: u8 = 3;
/// Follows the pending commit that it belongs to.
const TIMING: u8 = 4;

impl Tree {
    /// The id of the datastore itself, which is distinct for candidates.
    pub(in crate::tree) fn own_id(&self) -> TreeId {
        TreeId {
            anchor: self.id().anchor,
            datastore: self.datastore().id(),
        }
    }

    /// The key of the row.
    pub(in crate::tree) fn lock_key(&self) -> Vec<u8> {
        let mut key = anchor_prefix(Subspace::Locks, self.id().anchor);
        key.push(self.datastore().id());
        if self.datastore() == Datastore::PrivateCandidate {
            tuple::put_bytes(&mut key, self.session().as_bytes());
        }
        key
    }

    /// The lock record of the datastore in a snapshot.
    pub(in crate::tree) fn lock_record(&self, snapshot: &dyn Snapshot) -> Result<LockRecord> {
        let stored = snapshot.get(&self.lock_key())?;
        let mut lock_record = match &stored {
            Some(stored) => LockRecord::decode(stored)?,
            None => LockRecord {
                anchor: self.anchor().key.clone(),
                ..LockRecord::default()
            },
        };
        lock_record.stored = stored.map(std::borrow::Cow::into_owned);
        Ok(lock_record)
    }

    /// Puts a changed row, on condition that the stored one is unchanged.
    pub(in crate::tree) fn put_lock_record(&self, lock_record: LockRecord, batch: &mut Batch) {
        let key = self.lock_key();
        if lock_record.locks == Locks::default() {
            if lock_record.stored.is_some() {
                batch.delete(key.clone());
            }
        } else {
            batch.put(key.clone(), lock_record.encode());
        }
        batch.require(key, lock_record.stored);
    }
}

impl LockRecord {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_bytes(&mut bytes, &self.anchor);
        put_varint(&mut bytes, self.last_partial.into());
        if let Some(lock) = &self.locks.lock {
            bytes.push(LOCK);
            put_bytes(&mut bytes, lock.session.as_bytes());
            put_varint(&mut bytes, lock.time.0);
        }
        for partial in &self.locks.partial {
            bytes.push(PARTIAL);
            put_varint(&mut bytes, partial.id.into());
            put_bytes(&mut bytes, partial.session.as_bytes());
            put_varint(&mut bytes, partial.time.0);
            put_varint(&mut bytes, partial.paths.len() as u64);
            for (path, key) in partial.paths.iter().zip(&partial.keys) {
                put_bytes(&mut bytes, path.as_bytes());
                put_bytes(&mut bytes, key);
            }
        }
        if let Some(pending) = &self.locks.pending {
            bytes.push(PENDING);
            put_bytes(&mut bytes, pending.session.as_bytes());
            put_varint(&mut bytes, pending.deadline.0);
            put_varint(&mut bytes, pending.restores);
            bytes.push(pending.persist.is_some().into());
            put_bytes(
                &mut bytes,
                pending.persist.as_deref().unwrap_or_default().as_bytes(),
            );
            if let Some(timing) = &pending.timing {
                put_timing(&mut bytes, timing);
            }
        }
        bytes
    }

    /// Decodes a row.
    pub fn decode(mut bytes: &[u8]) -> Result<Self> {
        let rest = &mut bytes;
        let mut lock_record = Self {
            anchor: take_bytes(rest)?.to_vec(),
            last_partial: take_u32(rest)?,
            ..Self::default()
        };
        while let Some((&kind, after)) = rest.split_first() {
            *rest = after;
            match kind {
                LOCK => {
                    lock_record.locks.lock = Some(Lock {
                        session: take_text(rest)?,
                        time: Timestamp(take_varint(rest)?),
                    });
                }
                PARTIAL => lock_record.locks.partial.push(take_partial(rest)?),
                PENDING => lock_record.locks.pending = Some(take_pending(rest)?),
                TIMING => {
                    let pending = lock_record.locks.pending.as_mut().ok_or_else(damaged)?;
                    pending.timing = Some(take_timing(rest)?);
                }
                _ => return Err(damaged()),
            }
        }
        Ok(lock_record)
    }
}

fn take_partial(rest: &mut &[u8]) -> Result<PartialLock> {
    let mut partial = PartialLock {
        id: take_u32(rest)?,
        session: take_text(rest)?,
        time: Timestamp(take_varint(rest)?),
        paths: Vec::new(),
        keys: Vec::new(),
    };
    for _ in 0..take_varint(rest)? {
        partial.paths.push(take_text(rest)?);
        partial.keys.push(take_bytes(rest)?.to_vec());
    }
    Ok(partial)
}

fn take_pending(rest: &mut &[u8]) -> Result<PendingCommit> {
    let (session, deadline) = (take_text(rest)?, Timestamp(take_varint(rest)?));
    let restores = take_varint(rest)?;
    let (&persists, after) = rest.split_first().ok_or_else(damaged)?;
    *rest = after;
    let persist = take_text(rest)?;
    Ok(PendingCommit {
        session,
        deadline,
        timing: None,
        restores,
        persist: (persists != 0).then_some(persist),
    })
}

fn put_timing(bytes: &mut Vec<u8>, timing: &TimeoutStart) {
    bytes.push(TIMING);
    put_varint(bytes, timing.begun.0);
    match &timing.uptime {
        None => put_bytes(bytes, &[]),
        Some(uptime) => {
            put_bytes(bytes, &uptime.boot);
            put_varint(bytes, uptime.elapsed.as_millis() as u64);
        }
    }
}

fn take_timing(rest: &mut &[u8]) -> Result<TimeoutStart> {
    let begun = Timestamp(take_varint(rest)?);
    let boot = take_bytes(rest)?;
    let uptime = match boot.is_empty() {
        true => None,
        false => Some(Uptime {
            boot: boot.try_into().map_err(|_| damaged())?,
            elapsed: Duration::from_millis(take_varint(rest)?),
        }),
    };
    Ok(TimeoutStart { begun, uptime })
}

fn put_bytes(bytes: &mut Vec<u8>, content: &[u8]) {
    put_varint(bytes, content.len() as u64);
    bytes.extend_from_slice(content);
}

fn take_bytes<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = usize::try_from(take_varint(rest)?).map_err(|_| damaged())?;
    rest.split_off(..length).ok_or_else(damaged)
}

fn take_text(rest: &mut &[u8]) -> Result<String> {
    let text = std::str::from_utf8(take_bytes(rest)?).map_err(|_| damaged())?;
    Ok(text.to_owned())
}

fn take_u32(rest: &mut &[u8]) -> Result<u32> {
    u32::try_from(take_varint(rest)?).map_err(|_| damaged())
}

fn damaged() -> Error {
    Error::corrupt("a row of locks does not decode")
}
