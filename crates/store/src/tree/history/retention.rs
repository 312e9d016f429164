//! Retention: how many versions are kept, and the deletion of older ones.

use std::ops::Range;
use std::time::Duration;

use espalier_keyspace::{Direction, KeyRange, Snapshot};

use super::read_log::{header, version_key, version_of};
use crate::catalog::AnchorRow;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::fragment::{put_varint, take_varint};
use crate::subspace::Subspace;
use crate::tree::log::LogTarget;
use crate::tree::stamp::Stamp;
use crate::tree::tree::Tree;
use crate::tree::upgrade::release_past_schemas;

/// The default number of versions kept.
pub const RETENTION_VERSIONS_DEFAULT: u64 = 10_000;

/// Maximum number of versions deleted by one commit, so that its cost stays bounded after retention is
/// shortened.
const PRUNED_AT_ONCE_MAX: u64 = 32;

/// Tolerated clock error before versions are deleted by age: one day, or the retention age if that is
/// shorter.
const CLOCK_ERROR_TOLERATED: Duration = Duration::from_secs(24 * 60 * 60);

/// One extra version is kept per this many versions, so that most commits delete nothing: a range deletion
/// is one more engine page to modify.
const VERSIONS_PER_EXTRA_ONE: u64 = 256;

/// How many versions of a datastore are kept. The newest version is always kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Maximum number of versions; at least 1. Large numbers may be exceeded by 1 in 256, at most by 16.
    pub versions: u64,
    /// Maximum age. (After a long time without commits, or if a clock was set ahead, older versions are
    /// kept for up to a day longer.)
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
    /// The retention of this datastore.
    pub fn retention(&self) -> Result<Retention> {
        let snapshot = self.store().driver().snapshot()?;
        let stored = snapshot.get(&self.id().prefix(Subspace::Log))?;
        stored.map_or(Ok(Retention::default()), |stored| {
            Retention::decode(&stored)
        })
    }

    /// Sets the retention. The next commits delete the excess versions, a few each.
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

    /// The range of the log in which [`Self::oldest_kept`] looks first.
    pub(in crate::tree) fn kept_log(&self) -> KeyRange {
        let log = self.id().prefix(Subspace::Log);
        let mut range = KeyRange::strictly_below(&log);
        if let Some(before) = self.log_start().checked_sub(1) {
            range.start = version_key(self.id(), before);
        }
        range
    }

    /// The oldest version in the log.
    ///
    /// An engine that keeps deleted rows for a while passes them in a scan from the beginning, so the scan begins at
    /// the version before the oldest one that was found last. The versions of a log are consecutive: if that version is
    /// absent and a later one is there, nothing is before it. Otherwise the log is another one (its last group of
    /// commits failed, or a backup was restored), and the scan begins at the beginning.
    fn oldest_kept(&self, base: &dyn Snapshot) -> Result<Option<u64>> {
        let first_in = |range: &KeyRange| -> Result<Option<u64>> {
            let mut cursor = base.scan(range, Direction::Forward)?;
            let first = cursor.next()?;
            first.map(|(key, _)| version_of(self.id(), key)).transpose()
        };
        let start = self.log_start();
        let mut oldest = first_in(&self.kept_log())?;
        if start > 0 && oldest.is_none_or(|oldest| oldest < start) {
            oldest = first_in(&KeyRange::strictly_below(&self.id().prefix(Subspace::Log)))?;
        }
        self.note_log_start(oldest.unwrap_or(0));
        Ok(oldest)
    }

    /// Deletes versions that exceed the retention after a commit with this stamp; never `pinned`, which a
    /// pending confirmed commit needs, or later ones.
    pub(in crate::tree) fn prune<T: LogTarget + ?Sized>(
        &self,
        base: &dyn Snapshot,
        next: Stamp,
        pinned: u64,
        target: &mut T,
    ) -> Result<()> {
        let stored = base.get(&self.id().prefix(Subspace::Log))?;
        let retention = stored.map_or(Ok(Retention::default()), |stored| {
            Retention::decode(&stored)
        })?;
        let Some(oldest) = self.oldest_kept(base)? else {
            return Ok(());
        };
        let extra = (retention.versions / VERSIONS_PER_EXTRA_ONE).min(PRUNED_AT_ONCE_MAX / 2);
        let is_due =
            next.version.saturating_sub(oldest) >= retention.versions.saturating_add(extra);
        let kept = oldest..next.version;
        let kept_from = match retention.age {
            None => Timestamp(0),
            Some(age) => self.kept_from(base, kept, next.time, age)?,
        };
        if !is_due && !self.is_before(base, oldest, next, kept_from)? {
            return Ok(());
        }
        let mut end = oldest;
        while end < next.version && end - oldest < PRUNED_AT_ONCE_MAX {
            let is_beyond = next.version - end >= retention.versions;
            if !is_beyond && !self.is_before(base, end, next, kept_from)? {
                break;
            }
            end += 1;
        }
        let end = end.min(pinned);
        if end > oldest {
            let oldest_left = end;
            let (start, end) = (version_key(self.id(), oldest), version_key(self.id(), end));
            target.delete_range(KeyRange::new(start, end))?;
            release_past_schemas(base, self.id(), oldest_left, target)?;
        }
        Ok(())
    }

    /// The time before which versions are too old at `now`.
    ///
    /// A clock that was set ahead would make all versions too old. Therefore the time before the first
    /// commit of the last day, back to its predecessor, is not counted unless this process observed it
    /// pass: a wrong clock can be corrected within a day, and after a long time without commits, versions
    /// are deleted one day later.
    fn kept_from(
        &self,
        base: &dyn Snapshot,
        kept: Range<u64>,
        now: Timestamp,
        age: Duration,
    ) -> Result<Timestamp> {
        let by_clock = now.minus(age);
        let oldest = header(base, self.id(), kept.start)?;
        if oldest.is_some_and(|oldest| by_clock <= oldest.time && !oldest.time.is_ahead_of(now)) {
            return Ok(by_clock);
        }
        let tolerated = now.minus(age.min(CLOCK_ERROR_TOLERATED));
        let time = |version| -> Result<Timestamp> {
            Ok(header(base, self.id(), version)?.map_or(Timestamp(0), |header| header.time))
        };
        let is_recent = |version| -> Result<bool> {
            let time = time(version)?;
            Ok(time > tolerated && !time.is_ahead_of(now))
        };
        let (mut old, mut recent) = (kept.start, kept.end);
        while old < recent {
            let middle = old + (recent - old) / 2;
            match is_recent(middle)? {
                true => recent = middle,
                false => old = middle + 1,
            }
        }
        let first = match recent == kept.end {
            true => now,
            false => time(recent)?,
        };
        if recent == kept.start {
            return Ok(by_clock);
        }
        // Skip versions whose clock was ahead.
        for back in steps(recent - kept.start) {
            let before = time(recent - 1 - back)?;
            if before <= first {
                let observed_from = self.store().steady_since().max(before);
                let unobserved = first.min(observed_from).since(before);
                return Ok(by_clock.minus(unobserved));
            }
        }
        Ok(Timestamp(0))
    }

    /// Whether a version is older than a time. A version whose clock was ahead is judged by the next one
    /// whose clock was not.
    fn is_before(
        &self,
        base: &dyn Snapshot,
        version: u64,
        next: Stamp,
        kept_from: Timestamp,
    ) -> Result<bool> {
        if kept_from == Timestamp(0) {
            return Ok(false);
        }
        for ahead in steps(next.version - version) {
            let Some(header) = header(base, self.id(), version + ahead)? else {
                return Ok(false);
            };
            if !header.time.is_ahead_of(next.time) {
                return Ok(header.time < kept_from);
            }
        }
        Ok(false)
    }
}

/// 0, 1, 3, 7 and so on, below `end`: many consecutive versions may have a clock that was ahead.
fn steps(end: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(0), |step: &u64| Some(2 * step + 1))
        .take_while(move |step| *step < end)
}
