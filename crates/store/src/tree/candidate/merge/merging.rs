//! The merge algorithm and its result.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use espalier_keyspace::KeyRange;

use super::conflict::{Conflict, Resolution};
use super::named_state::{EntryIdentity, NamedState};
use super::running_changes::RunningChanges;
use super::saved_followers::SavedBase;
use super::to_named_keys::{ToNamedKeys, UserOrderedNodes};
use super::to_stored_keys::ToStoredKeys;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::overlay::{Changes, Layered};
use crate::subspace::Subspace;
use crate::tree::locate::TreeState;

/// The states that the changes of a candidate are merged on.
#[derive(Clone, Copy)]
pub(in crate::tree::candidate) struct MergeBasis<'a> {
    /// The newest running.
    pub running: TreeState<'a>,
    /// The version of running that the candidate was made on.
    pub base: Layered<'a>,
    /// Which part of the base is available.
    pub coverage: BaseCoverage,
    /// The number of versions between base and running.
    pub versions_since: u64,
    /// The time of the last change of running.
    pub time: Timestamp,
}

/// Which part of a candidate's base version is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tree::candidate) enum BaseCoverage {
    /// All of it, from the log.
    Complete,
    /// Only the keys that the candidate changed; the log no longer reaches back to this version.
    ChangedKeys(u64),
}

/// The result of a merge.
pub(in crate::tree::candidate) struct Merged {
    /// The changes over the newest running.
    pub changes: Arc<Changes>,
    /// Stamps of the candidate that change because running changed content of the same resources.
    pub stamps: Changes,
    /// The conflicts.
    pub conflicts: Vec<Conflict>,
}

impl Merged {
    /// The result if running is still the base.
    pub fn unchanged(changes: &Arc<Changes>) -> Self {
        Self {
            changes: Arc::clone(changes),
            stamps: Changes::default(),
            conflicts: Vec::new(),
        }
    }
}

// Key by key on what running changed, not the edits again: docs/decisions/0026.
/// A merge in progress. All keys are named keys.
pub(super) struct Merger<'a> {
    pub running: NamedState<'a>,
    pub base: NamedState<'a>,
    pub basis: MergeBasis<'a>,
    pub resolution: Resolution,
    /// The changes of running.
    pub changed: RunningChanges,
    /// The changes of the candidate, as merged so far.
    pub changes: Arc<Changes>,
    /// The candidate's original changes, by stored keys.
    pub stored: Arc<Changes>,
    pub conflicts: Vec<Conflict>,
    /// Resolved subtrees, none inside another; changes of running in them are skipped.
    resolved: BTreeSet<Vec<u8>>,
    /// Resolved rows; what is below them is not.
    resolved_rows: BTreeSet<Vec<u8>>,
}

/// The changes of a candidate.
struct CandidateChanges<'a> {
    /// By named keys.
    named: Arc<Changes>,
    /// By stored keys.
    stored: &'a Arc<Changes>,
    /// The stored keys without names, of entries that are no longer available.
    lost: Vec<Vec<u8>>,
}

/// Merges changes on the newest running. Conflicts are resolved with `resolution` and reported.
pub(in crate::tree::candidate) fn merge(
    basis: MergeBasis<'_>,
    changes: &Arc<Changes>,
    resolution: Resolution,
) -> Result<Merged> {
    if !may_have_moved(&basis, changes) {
        let view = |snapshot| NamedState {
            stored: TreeState {
                snapshot,
                ..basis.running
            },
            identity: EntryIdentity::ByPosition,
        };
        let views = [view(basis.running.snapshot), view(&basis.base)];
        let candidate_changes = CandidateChanges {
            named: Arc::clone(changes),
            stored: changes,
            lost: Vec::new(),
        };
        let (merger, stamps) = Merger::run(basis, views, candidate_changes, resolution)?;
        return Ok(Merged {
            changes: merger.changes,
            stamps,
            conflicts: merger.conflicts,
        });
    }
    merge_by_name(basis, changes, resolution)
}

/// Whether either side may have changed positions.
fn may_have_moved(basis: &MergeBasis<'_>, changes: &Changes) -> bool {
    let order = KeyRange::prefix(&basis.running.tree.prefix(Subspace::Order));
    let has_order = |of: &Changes| of.writes_in(&order) || !of.cleared_in(&order).is_empty();
    let is_complete = basis.coverage == BaseCoverage::Complete
        || !UserOrderedNodes::of(basis.running.schema()).any();
    !is_complete || has_order(changes) || has_order(basis.base.changes)
}

/// Merges by named keys: positions changed.
fn merge_by_name(
    basis: MergeBasis<'_>,
    changes: &Arc<Changes>,
    resolution: Resolution,
) -> Result<Merged> {
    let candidate = Layered {
        base: &basis.base,
        changes,
    };
    let view = |snapshot| NamedState {
        stored: TreeState {
            snapshot,
            ..basis.running
        },
        identity: EntryIdentity::ByKeys,
    };
    let (running, base) = (view(basis.running.snapshot), view(&basis.base));
    let ordered = UserOrderedNodes::of(basis.running.schema());
    let candidate = view(&candidate);
    let to_named = ToNamedKeys {
        base: &base,
        candidate: &candidate,
        ordered: &ordered,
        stored: changes,
    };
    let (named, lost) = to_named.run()?;
    let candidate_changes = CandidateChanges {
        named: Arc::new(named),
        stored: changes,
        lost,
    };
    let (merger, stamps) = Merger::run(basis, [running, base], candidate_changes, resolution)?;
    let conflicts = merger.conflicts;
    let to_stored = ToStoredKeys {
        running: &running,
        candidate: &candidate,
        saved: (basis.coverage != BaseCoverage::Complete).then_some(SavedBase {
            state: &base,
            rows: basis.base.changes,
        }),
        changed: &merger.changed,
        ordered: &ordered,
        named: Arc::unwrap_or_clone(merger.changes),
    };
    let (stored, stamps) = to_stored.run(&stamps)?;
    let changes = match stored == **changes {
        true => Arc::clone(changes),
        false => Arc::new(stored),
    };
    Ok(Merged {
        changes,
        stamps,
        conflicts,
    })
}

impl<'a> Merger<'a> {
    /// Runs the merge. Also returns the stamps that are incremented.
    fn run(
        basis: MergeBasis<'a>,
        [running, base]: [NamedState<'a>; 2],
        candidate_changes: CandidateChanges<'_>,
        resolution: Resolution,
    ) -> Result<(Self, Changes)> {
        let mut merger = Self {
            changed: RunningChanges::between(&base, &running, &basis)?,
            running,
            base,
            basis,
            resolution,
            changes: candidate_changes.named,
            stored: Arc::clone(candidate_changes.stored),
            conflicts: Vec::new(),
            resolved: BTreeSet::new(),
            resolved_rows: BTreeSet::new(),
        };
        let stamps = merger.incremented_stamps()?;
        if basis.coverage != BaseCoverage::Complete {
            merger.find_orphaned_writes()?;
        }
        merger.merge_keys()?;
        merger.merge_positions()?;
        if let BaseCoverage::ChangedKeys(version) = basis.coverage {
            merger.merge_partial_base(version, &candidate_changes.lost)?;
            merger.resolve_candidate_cases()?;
        }
        merger.resolve_cases()?;
        Ok((merger, stamps))
    }

    /// The changes, for modification.
    pub fn changes_mut(&mut self) -> &mut Changes {
        Arc::make_mut(&mut self.changes)
    }

    /// The candidate as merged so far.
    pub fn candidate(&self) -> Layered<'_> {
        Layered {
            base: &self.running,
            changes: &self.changes,
        }
    }

    /// Marks a subtree as resolved.
    pub fn mark_resolved(&mut self, key: &[u8]) {
        if self.is_resolved(key) {
            return;
        }
        let inner = self
            .resolved
            .range::<[u8], _>((Bound::Included(key), Bound::Unbounded));
        let inner = inner.take_while(|inner| inner.starts_with(key)).cloned();
        for inner in inner.collect::<Vec<_>>() {
            self.resolved.remove(&inner);
        }
        self.resolved.insert(key.to_vec());
    }

    /// Marks a row as resolved, but not the rows below it.
    pub fn mark_row_resolved(&mut self, key: &[u8]) {
        self.resolved_rows.insert(key.to_vec());
    }

    /// Whether a key is resolved, or in a resolved subtree.
    pub fn is_resolved(&self, key: &[u8]) -> bool {
        if self.resolved_rows.contains(key) {
            return true;
        }
        let before = self
            .resolved
            .range::<[u8], _>((Bound::Unbounded, Bound::Included(key)));
        before
            .last()
            .is_some_and(|resolved| key.starts_with(resolved))
    }

    /// Whether the candidate writes a value at or below a key.
    pub fn writes_below(&self, key: &[u8]) -> bool {
        let range = KeyRange::prefix(key);
        self.changes
            .written_in(&range)
            .any(|(_, value)| value.is_some())
    }

    /// Whether the candidate writes the content or the position of a node.
    pub fn writes_node(&self, key: &[u8]) -> bool {
        super::resolve::SUBSPACES
            .iter()
            .any(|&place| self.writes_below(&crate::tree::in_subspace(key, place)))
    }
}
