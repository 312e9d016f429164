//! Which commits there were.

use espalier_keyspace::{Direction, KeyRange, Snapshot};

use super::read_log::{header, version_of};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::keys::TreeId;
use crate::subspace::Subspace;
use crate::tree::changes::{Comparison, Diff, NodeChange, Towards, each_node_change};
use crate::tree::commit::Tree;
use crate::tree::history::rewind::{Target, rewind};
use crate::tree::view::View;

/// At most this many commits are listed at once.
pub const HISTORY_PAGE_MAX: usize = 10_000;

/// A commit, as the log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitInfo {
    /// The version that it made.
    pub version: u64,
    /// When.
    pub time: Timestamp,
    /// Who made it; may be empty.
    pub author: String,
    /// Why; may be empty.
    pub comment: String,
}

/// The versions that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// The first whose commit is in the log; the newest, where none is.
    pub oldest: u64,
    pub newest: u64,
}

impl Kept {
    pub fn read(snapshot: &dyn Snapshot, tree: TreeId) -> Result<Self> {
        let root = tree.prefix(Subspace::Tree);
        let newest = crate::tree::stamp::record(snapshot, &root)?;
        let newest = newest.map_or(0, |record| record.any.version);
        let range = KeyRange::below(&tree.prefix(Subspace::Log));
        let mut cursor = snapshot.scan(&range, Direction::Forward)?;
        let oldest = match cursor.next()? {
            Some((key, _)) => version_of(tree, key)?,
            None => newest,
        };
        Ok(Self { oldest, newest })
    }

    /// Refuses a version whose state is not known. Version 0, the empty datastore, is kept as
    /// long as the first commit.
    pub fn check(self, version: u64) -> Result<()> {
        let Self { oldest, newest } = self;
        if version > newest {
            return Err(Error::NoVersion { version, newest });
        }
        let is_kept = version >= oldest || (version == 0 && oldest <= 1);
        match is_kept {
            true => Ok(()),
            false => Err(Error::Pruned { version, oldest }),
        }
    }
}

impl Tree {
    /// The newest commits, newest first, those up to version `from` where it is given; at most
    /// `limit`, and at most [`HISTORY_PAGE_MAX`]. What is no longer kept is not listed.
    pub fn history(&self, from: Option<u64>, limit: usize) -> Result<Vec<CommitInfo>> {
        let snapshot = self.store().driver().snapshot()?;
        let Kept { oldest, newest } = Kept::read(&*snapshot, self.id())?;
        let from = from.map_or(newest, |from| from.min(newest));
        let mut commits = Vec::new();
        for version in (oldest.max(1)..=from).rev() {
            if commits.len() == limit.min(HISTORY_PAGE_MAX) {
                break;
            }
            let header = header(&*snapshot, self.id(), version)?;
            let header = header.ok_or_else(|| Error::corrupt("the log lacks a version"))?;
            commits.push(CommitInfo {
                version,
                time: header.time,
                author: header.author,
                comment: header.comment,
            });
        }
        Ok(commits)
    }

    /// Reads what the log says of every commit that is kept; tells the versions that it lacks, or that
    /// cannot be read.
    pub(crate) fn examine_history(
        &self,
        snapshot: &dyn Snapshot,
        tell: &mut dyn FnMut(u64, String),
    ) -> Result<()> {
        let Kept { oldest, newest } = Kept::read(snapshot, self.id())?;
        let mut ahead = Ahead::default();
        for version in oldest.max(1)..=newest {
            match header(snapshot, self.id(), version) {
                Ok(Some(header)) => ahead.take(version, header.time),
                Ok(None) => tell(version, "the log lacks this version".to_owned()),
                Err(Error::Corrupt(problem)) => tell(version, problem),
                Err(error) => return Err(error),
            }
        }
        ahead.take(newest + 1, self.store().now());
        ahead.warn();
        Ok(())
    }

    /// The datastore as it was at a version. Costs as much as the changes since; every resource
    /// of it has the stamp of that version.
    ///
    /// # Errors
    /// [`Error::NoVersion`], [`Error::Pruned`].
    pub fn at(&self, version: u64) -> Result<View> {
        let snapshot = self.store().driver().snapshot()?;
        let overlay = rewind(snapshot, self.id(), Target::Seen(version))?;
        Ok(View::new(
            Box::new(overlay),
            std::sync::Arc::clone(self.compiled()),
            self.id(),
        ))
    }

    /// What is different at version `b` from what was at version `a`, which may be the later one.
    ///
    /// # Errors
    /// [`Error::NoVersion`], [`Error::Pruned`], and `too-big` beyond
    /// [`crate::DIFF_CHANGES_MAX`].
    pub fn diff(&self, a: u64, b: u64) -> Result<Diff> {
        let compiled = self.compiled();
        self.compare(a, b, |comparison| Diff::of(compiled, comparison))
    }

    /// As [`Self::diff`], for differences of any size: calls `visit` with each changed node. An
    /// error that it returns ends it, and is returned.
    pub fn each_difference(
        &self,
        a: u64,
        b: u64,
        visit: &mut dyn FnMut(&NodeChange) -> Result<()>,
    ) -> Result<()> {
        self.compare(a, b, |comparison| {
            each_node_change(comparison, &mut |change| visit(change))
        })
    }

    /// Compares two versions.
    pub(in crate::tree) fn compare<T>(
        &self,
        a: u64,
        b: u64,
        compare: impl FnOnce(Comparison<'_>) -> Result<T>,
    ) -> Result<T> {
        let snapshot = self.store().driver().snapshot()?;
        let kept = Kept::read(&*snapshot, self.id())?;
        kept.check(a).and_then(|()| kept.check(b))?;
        let later = rewind(snapshot, self.id(), Target::Kept(a.max(b)))?;
        let earlier = rewind(
            Box::new(later),
            self.id(),
            Target::Further(a.max(b), a.min(b)),
        )?;
        let towards = match a < b {
            true => Towards::Lower,
            false => Towards::Upper,
        };
        compare(Comparison::new(
            self.compiled(),
            self.id(),
            &earlier,
            towards,
        ))
    }
}

/// Commits whose clock was ahead: of the next commit's, or of now.
#[derive(Default)]
struct Ahead {
    last: Option<(u64, Timestamp)>,
    count: u64,
    example: u64,
}

impl Ahead {
    /// Takes the next version.
    fn take(&mut self, version: u64, time: Timestamp) {
        if let Some((last, last_time)) = self.last.replace((version, time))
            && last_time.is_ahead_of(time)
        {
            self.count += 1;
            self.example = last;
        }
    }

    /// No fault of the store, but something to know.
    fn warn(&self) {
        if self.count > 0 {
            tracing::warn!(
                count = self.count,
                version = self.example,
                "a clock was ahead when this version was committed, or is behind now; versions, not times, say what \
                 came before what"
            );
        }
    }
}
