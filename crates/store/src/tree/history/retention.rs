//! How many versions are kept, and deleting those beyond.

use std::time::Duration;

use espalier_keyspace::{Direction, KeyRange, Snapshot};

use super::read_log::{header, version_key, version_of};
use crate::catalog::AnchorRow;
use crate::error::Result;
use crate::fragment::{put_varint, take_varint};
use crate::subspace::Subspace;
use crate::tree::commit::Tree;
use crate::tree::log::LogTarget;
use crate::tree::stamp::Stamp;

/// How many versions are kept where nobody says otherwise.
pub const RETENTION_VERSIONS_DEFAULT: u64 = 10_000;

/// A commit deletes at most this many versions, so that it costs what it changes also where
/// retention was shortened.
const PRUNED_AT_ONCE_MAX: u64 = 32;

/// Of so many versions that are kept there is one more before any is deleted, so that most commits need
/// not delete: a range to delete is another place of the engine to change.
const KEPT_FOR_ONE_MORE: u64 = 256;

/// How many versions of a datastore are kept. The newest is kept in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// At most this many versions; at least 1. Large numbers are exceeded by up to 1 in 256, and by up to
    /// 16.
    pub versions: u64,
    /// Those that are not older.
    pub age: Option<Duration>,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            versions: RETENTION_VERSIONS_DEFAULT,
            age: None,
        }
    }
}

impl Retention {
    fn encode(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, self.versions.max(1));
        let age = self.age.map_or(0, |age| {
            u64::try_from(age.as_millis()).unwrap_or(u64::MAX).max(1)
        });
        put_varint(&mut bytes, age);
        bytes
    }

    fn decode(mut bytes: &[u8]) -> Result<Self> {
        let versions = take_varint(&mut bytes)?;
        let age = take_varint(&mut bytes)?;
        Ok(Self {
            versions,
            age: (age > 0).then(|| Duration::from_millis(age)),
        })
    }
}

impl Tree {
    /// How many versions of this datastore are kept.
    pub fn retention(&self) -> Result<Retention> {
        let snapshot = self.store().driver().snapshot()?;
        let stored = snapshot.get(&self.id().prefix(Subspace::Log))?;
        stored.map_or(Ok(Retention::default()), |stored| {
            Retention::decode(&stored)
        })
    }

    /// Sets how many versions are kept. Those beyond are deleted by the next commits, a few by
    /// each.
    pub fn set_retention(&self, retention: Retention) -> Result<()> {
        let AnchorRow { key, value, .. } = self.anchor().clone();
        let mut batch = espalier_keyspace::Batch::new();
        batch.require(key, Some(value));
        batch.put(self.id().prefix(Subspace::Log), retention.encode());
        match self.store().driver().commit(batch) {
            Ok(_) => Ok(()),
            Err(error) => {
                self.check_anchor(&error)?;
                Err(error.into())
            }
        }
    }

    /// Deletes versions that are not kept once a commit with this stamp is made; never `pinned`,
    /// which a commit that waits for its confirmation needs, or what came after it.
    pub(in crate::tree) fn prune<T: LogTarget + ?Sized>(
        &self,
        base: &dyn Snapshot,
        next: Stamp,
        pinned: u64,
        target: &mut T,
    ) -> Result<()> {
        let log = self.id().prefix(Subspace::Log);
        let range = KeyRange::prefix(&log);
        let mut cursor = base.scan(&range, Direction::Forward)?;
        let mut retention = Retention::default();
        let mut first = cursor.next()?;
        if let Some((key, value)) = first
            && key == log
        {
            retention = Retention::decode(value)?;
            first = cursor.next()?;
        }
        let Some((key, _)) = first else { return Ok(()) };
        let oldest = version_of(self.id(), key)?;
        let more = (retention.versions / KEPT_FOR_ONE_MORE).min(PRUNED_AT_ONCE_MAX / 2);
        let is_due = next.version.saturating_sub(oldest) >= retention.versions.saturating_add(more);
        if !is_due && !self.is_too_old(base, oldest, next, retention)? {
            return Ok(());
        }
        let mut end = oldest;
        while end < next.version && end - oldest < PRUNED_AT_ONCE_MAX {
            let is_beyond = next.version - end >= retention.versions;
            if !is_beyond && !self.is_too_old(base, end, next, retention)? {
                break;
            }
            end += 1;
        }
        let end = end.min(pinned);
        if end > oldest {
            let (start, end) = (version_key(self.id(), oldest), version_key(self.id(), end));
            target.delete_range(KeyRange::new(start, end))?;
        }
        Ok(())
    }

    fn is_too_old(
        &self,
        base: &dyn Snapshot,
        version: u64,
        next: Stamp,
        retention: Retention,
    ) -> Result<bool> {
        let Some(age) = retention.age else {
            return Ok(false);
        };
        let header = header(base, self.id(), version)?;
        let since = header.map_or(0, |header| next.time.0.saturating_sub(header.time.0));
        Ok(u128::from(since) > age.as_millis())
    }
}
