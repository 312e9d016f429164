//! Lists commits, opens earlier versions and compares versions.

use std::sync::Arc;

use espalier_keyspace::{Direction, KeyRange, Snapshot};
use espalier_yang::Schema;

use super::read_log::{header, version_of};
use crate::clock::Timestamp;
use crate::compiled_schema_set::Compiled;
use crate::error::{Error, Result};
use crate::keys::TreeId;
use crate::overlay::Overlay;
use crate::subspace::Subspace;
use crate::tree::changes::{Comparison, Diff, NewerState, NodeChange, each_node_change};
use crate::tree::history::rewind::{RewindTarget, rewind};
use crate::tree::locate::TreeState;
use crate::tree::tree::Tree;
use crate::tree::upgrade::{ConvertedPast, NodeMapping, convert_all, past_schema_at};
use crate::tree::view::View;

/// Maximum number of commits listed at once.
pub const HISTORY_PAGE_MAX: usize = 10_000;

/// A commit, as recorded in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitInfo {
    /// The version that it created.
    pub version: u64,
    /// The time of the commit.
    pub time: Timestamp,
    /// The author; may be empty.
    pub author: String,
    /// The comment; may be empty.
    pub comment: String,
}

/// The range of versions that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tree) struct KeptVersions {
    /// The first version with a commit in the log; the newest version if there is none.
    pub oldest: u64,
    pub newest: u64,
}

impl KeptVersions {
    pub fn read(snapshot: &dyn Snapshot, tree: TreeId) -> Result<Self> {
        let root = tree.prefix(Subspace::Tree);
        let newest = crate::tree::stamp::record(snapshot, &root)?;
        let newest = newest.map_or(0, |record| record.any.version);
        let range = KeyRange::strictly_below(&tree.prefix(Subspace::Log));
        let mut cursor = snapshot.scan(&range, Direction::Forward)?;
        let oldest = match cursor.next()? {
            Some((key, _)) => version_of(tree, key)?,
            None => newest,
        };
        Ok(Self { oldest, newest })
    }

    /// Rejects a version whose state is not available. Version 0, the empty datastore, is kept as long as
    /// the first commit.
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
    /// The newest commits, newest first, up to version `from` if given; at most `limit`, and at most
    /// [`HISTORY_PAGE_MAX`]. Pruned versions are not listed.
    pub fn history(&self, from: Option<u64>, limit: usize) -> Result<Vec<CommitInfo>> {
        let snapshot = self.store().driver().snapshot()?;
        let KeptVersions { oldest, newest } = KeptVersions::read(&*snapshot, self.id())?;
        let from = from.map_or(newest, |from| from.min(newest));
        let mut commits = Vec::new();
        for version in (oldest.max(1)..=from).rev() {
            if commits.len() == limit.min(HISTORY_PAGE_MAX) {
                break;
            }
            commits.push(self.kept_commit(&*snapshot, version)?);
        }
        Ok(commits)
    }

    /// The oldest commit that is kept; `None` if there is none.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn oldest_commit(&self) -> Result<Option<CommitInfo>> {
        let snapshot = self.store().driver().snapshot()?;
        let KeptVersions { oldest, newest } = KeptVersions::read(&*snapshot, self.id())?;
        let version = oldest.max(1);
        let is_kept = version <= newest;
        let commit = is_kept.then(|| self.kept_commit(&*snapshot, version));
        commit.transpose()
    }

    /// The commit of a version that is kept.
    fn kept_commit(&self, snapshot: &dyn Snapshot, version: u64) -> Result<CommitInfo> {
        let header = header(snapshot, self.id(), version)?;
        let header = header.ok_or_else(|| Error::corrupt("the log lacks a version"))?;
        Ok(CommitInfo {
            version,
            time: header.time,
            author: header.author,
            comment: header.comment,
        })
    }

    /// Reads the log of every kept commit; reports the versions that are missing or unreadable.
    pub(crate) fn check_history(
        &self,
        snapshot: &dyn Snapshot,
        report: &mut dyn FnMut(u64, String),
    ) -> Result<()> {
        let KeptVersions { oldest, newest } = KeptVersions::read(snapshot, self.id())?;
        let mut clock_check = ClockCheck::default();
        for version in oldest.max(1)..=newest {
            match header(snapshot, self.id(), version) {
                Ok(Some(header)) => clock_check.check(version, header.time),
                Ok(None) => report(version, "the log lacks this version".to_owned()),
                Err(Error::Corrupt(problem)) => report(version, problem),
                Err(error) => return Err(error),
            }
        }
        clock_check.check(newest + 1, self.store().now());
        clock_check.warn();
        Ok(())
    }

    /// Opens the datastore at an earlier version, with the modules of that time ([`View::schema`]). Costs
    /// as much as the changes since; every resource has the stamp of that version.
    ///
    /// # Errors
    /// [`Error::NoVersion`], [`Error::Pruned`].
    pub fn at(&self, version: u64) -> Result<View> {
        let snapshot = self.store().driver().snapshot()?;
        let compiled = self.compiled_at(&*snapshot, version)?;
        let overlay = rewind(snapshot, self.id(), RewindTarget::Stamped(version))?;
        Ok(View::new(Box::new(overlay), compiled, self.id()))
    }

    /// The schema of a version.
    pub(in crate::tree) fn compiled_at(
        &self,
        snapshot: &dyn Snapshot,
        version: u64,
    ) -> Result<Arc<Compiled>> {
        match past_schema_at(snapshot, self.id(), version)? {
            Some(record) => self.store().compiled_past(snapshot, record),
            None => {
                self.check_modules(snapshot)?;
                Ok(Arc::clone(self.compiled()))
            }
        }
    }

    /// The differences from version `a` to version `b`, which may be the earlier one, in the schema of the
    /// later one. If the modules changed in between, the earlier version is converted to the later modules;
    /// data without a node in these is left out.
    ///
    /// # Errors
    /// [`Error::NoVersion`], [`Error::Pruned`], and `too-big` beyond
    /// [`crate::DIFF_CHANGES_MAX`].
    pub fn diff(&self, a: u64, b: u64) -> Result<Diff> {
        let mut diff = None;
        self.compare(a, b, SchemaScope::Converted, &mut |compiled, comparison| {
            diff = Some(Diff::of(compiled, comparison)?);
            Ok(())
        })?;
        diff.ok_or_else(|| Error::corrupt("two versions were not compared"))
    }

    /// As [`Self::diff`], for differences of any size: calls `visit` with the schema and each changed node.
    /// Data of nodes that the later modules do not have comes first, as changes in the earlier schema. An
    /// error of `visit` ends the call and is returned.
    pub fn each_difference(
        &self,
        a: u64,
        b: u64,
        visit: &mut dyn FnMut(&Arc<Schema>, &NodeChange) -> Result<()>,
    ) -> Result<()> {
        self.compare(
            a,
            b,
            SchemaScope::Everything,
            &mut |compiled, comparison| {
                let schema = &compiled.schema;
                each_node_change(comparison, &mut |change| visit(schema, change))
            },
        )
    }

    /// Compares two versions in the schema of the later one.
    pub(in crate::tree) fn compare_converted(
        &self,
        a: u64,
        b: u64,
        compare: &mut dyn FnMut(Comparison<'_>) -> Result<()>,
    ) -> Result<()> {
        self.compare(a, b, SchemaScope::Converted, &mut |_, comparison| {
            compare(comparison)
        })
    }

    /// Compares two versions: once in the later schema, and before that in the earlier one if it has data
    /// that the later one does not.
    fn compare(&self, a: u64, b: u64, scope: SchemaScope, compare: Compare<'_>) -> Result<()> {
        let driver = self.store().driver();
        let snapshot = driver.snapshot()?;
        let kept = KeptVersions::read(&*snapshot, self.id())?;
        kept.check(a).and_then(|()| kept.check(b))?;
        let (older, newer) = (a.min(b), a.max(b));
        let newer_state = match a < b {
            true => NewerState::Lower,
            false => NewerState::Upper,
        };
        let (old_schema, new_schema) = (
            self.compiled_at(&*snapshot, older)?,
            self.compiled_at(&*snapshot, newer)?,
        );
        let later = rewind(snapshot, self.id(), RewindTarget::Version(newer))?;
        let earlier = rewind(
            Box::new(later),
            self.id(),
            RewindTarget::Between(newer, older),
        )?;
        let schemas = (&old_schema, &new_schema);
        self.compare_states(earlier, schemas, (newer_state, scope), compare)?;
        Ok(())
    }

    /// Compares an earlier state, as changes over a later one, with that; returns the earlier state too, in the schema of
    /// the later one.
    pub(super) fn compare_states(
        &self,
        mut earlier: Overlay,
        (old_schema, new_schema): (&Arc<Compiled>, &Arc<Compiled>),
        (newer_state, scope): (NewerState, SchemaScope),
        compare: Compare<'_>,
    ) -> Result<Overlay> {
        if !Arc::ptr_eq(old_schema, new_schema) {
            let nodes = NodeMapping::between(old_schema, new_schema);
            let state = TreeState::new(&earlier, old_schema, self.id());
            // Data without a node in the later schema is deleted in the earlier one.
            let ConvertedPast { changes, lost } = convert_all(state, new_schema, &nodes)?;
            if scope == SchemaScope::Everything && !lost.is_empty() {
                let mut without = Overlay::over(earlier);
                without.apply(&lost);
                let newer_state = match newer_state {
                    NewerState::Lower => NewerState::Upper,
                    NewerState::Upper => NewerState::Lower,
                };
                let comparison = Comparison::new(old_schema, self.id(), &without, newer_state);
                compare(old_schema, comparison)?;
                earlier = below(without)?;
            }
            earlier.apply(&changes);
        }
        let comparison = Comparison::new(new_schema, self.id(), &earlier, newer_state);
        compare(new_schema, comparison)?;
        Ok(earlier)
    }
}

/// The state below an overlay that was made with [`Overlay::over`].
pub(super) fn below(overlay: Overlay) -> Result<Overlay> {
    let (below, _) = overlay
        .into_base_overlay()
        .ok_or_else(|| Error::corrupt("a state has no other below it"))?;
    Ok(below)
}

/// Which differences between versions with different schemas are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SchemaScope {
    /// Those of nodes in the later schema.
    Converted,
    /// Also those of nodes that only the earlier schema has.
    Everything,
}

/// The callback for a comparison, with the schema of both states.
pub(super) type Compare<'a> = &'a mut dyn FnMut(&Arc<Compiled>, Comparison<'_>) -> Result<()>;

/// Finds commits whose time is later than that of the next commit, or than now.
#[derive(Default)]
struct ClockCheck {
    last: Option<(u64, Timestamp)>,
    count: u64,
    example: u64,
}

impl ClockCheck {
    /// Checks the next version.
    fn check(&mut self, version: u64, time: Timestamp) {
        if let Some((last, last_time)) = self.last.replace((version, time))
            && last_time.is_ahead_of(time)
        {
            self.count += 1;
            self.example = last;
        }
    }

    /// Logs a warning. The store itself is not damaged.
    fn warn(&self) {
        if self.count > 0 {
            tracing::warn!(
                count = self.count,
                version = self.example,
                "a clock was ahead when this version was committed, or is behind now; the order of commits is that \
                 of their versions, not of their times"
            );
        }
    }
}
