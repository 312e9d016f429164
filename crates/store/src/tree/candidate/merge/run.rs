//! The merge algorithm and its result.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use espalier_keyspace::KeyRange;

use super::changed::Changed;
use super::conflict::{Conflict, Resolution};
use super::named::{Named, Told};
use super::naming::{Naming, Ordered};
use super::placing::Placing;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::overlay::{Changes, Layered};
use crate::subspace::Subspace;
use crate::tree::locate::State;

/// The states that the changes of a candidate are merged on.
#[derive(Clone, Copy)]
pub(in crate::tree::candidate) struct Basis<'a> {
    /// The newest running.
    pub running: State<'a>,
    /// The version of running that the candidate was made on.
    pub base: Layered<'a>,
    /// Which part of the base is available.
    pub known: Known,
    /// The number of versions between base and running.
    pub moved: u64,
    /// The time of the last change of running.
    pub time: Timestamp,
}

/// Which part of a candidate's base version is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tree::candidate) enum Known {
    /// All of it, from the log.
    Everything,
    /// Only the keys that the candidate changed; the log no longer reaches back to this version.
    Changed(u64),
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

/// A merge in progress. All keys are named keys.
pub(super) struct Merging<'a> {
    pub running: Named<'a>,
    pub base: Named<'a>,
    pub basis: Basis<'a>,
    pub resolution: Resolution,
    /// The changes of running.
    pub changed: Changed,
    /// The changes of the candidate, as merged so far.
    pub changes: Arc<Changes>,
    /// The candidate's original changes, by stored keys.
    pub stored: Arc<Changes>,
    pub conflicts: Vec<Conflict>,
    /// Resolved subtrees, none inside another; changes of running in them are skipped.
    settled: BTreeSet<Vec<u8>>,
}

/// The changes of a candidate.
struct Proposed<'a> {
    /// By named keys.
    named: Arc<Changes>,
    /// By stored keys.
    stored: &'a Arc<Changes>,
    /// The stored keys without names, of entries that are no longer available.
    lost: Vec<Vec<u8>>,
}

/// Merges changes on the newest running. Conflicts are resolved with `resolution` and reported.
pub(in crate::tree::candidate) fn merge(
    basis: Basis<'_>,
    changes: &Arc<Changes>,
    resolution: Resolution,
) -> Result<Merged> {
    if !may_have_moved(&basis, changes) {
        let view = |snapshot| Named {
            stored: State {
                snapshot,
                ..basis.running
            },
            told: Told::ByPosition,
        };
        let views = [view(basis.running.snapshot), view(&basis.base)];
        let proposed = Proposed {
            named: Arc::clone(changes),
            stored: changes,
            lost: Vec::new(),
        };
        let (merging, stamps) = Merging::run(basis, views, proposed, resolution)?;
        return Ok(Merged {
            changes: merging.changes,
            stamps,
            conflicts: merging.conflicts,
        });
    }
    merge_by_name(basis, changes, resolution)
}

/// Whether either side may have changed positions.
fn may_have_moved(basis: &Basis<'_>, changes: &Changes) -> bool {
    let order = KeyRange::prefix(&basis.running.tree.prefix(Subspace::Order));
    let has_order = |of: &Changes| of.writes_in(&order) || !of.cleared_in(&order).is_empty();
    let is_known = basis.known == Known::Everything || !Ordered::of(basis.running.schema()).any();
    !is_known || has_order(changes) || has_order(basis.base.changes)
}

/// Merges by named keys: positions changed.
fn merge_by_name(
    basis: Basis<'_>,
    changes: &Arc<Changes>,
    resolution: Resolution,
) -> Result<Merged> {
    let made = Layered {
        base: &basis.base,
        changes,
    };
    let view = |snapshot| Named {
        stored: State {
            snapshot,
            ..basis.running
        },
        told: Told::ByKeys,
    };
    let (running, base) = (view(basis.running.snapshot), view(&basis.base));
    let ordered = Ordered::of(basis.running.schema());
    let made = view(&made);
    let naming = Naming {
        base: &base,
        made: &made,
        ordered: &ordered,
        stored: changes,
    };
    let (named, lost) = naming.run()?;
    let proposed = Proposed {
        named: Arc::new(named),
        stored: changes,
        lost,
    };
    let (merging, stamps) = Merging::run(basis, [running, base], proposed, resolution)?;
    let conflicts = merging.conflicts;
    let placing = Placing {
        running: &running,
        made: &made,
        changed: &merging.changed,
        ordered: &ordered,
        named: Arc::unwrap_or_clone(merging.changes),
    };
    let (stored, stamps) = placing.run(&stamps)?;
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

impl<'a> Merging<'a> {
    /// Runs the merge. Also returns the stamps that are incremented.
    fn run(
        basis: Basis<'a>,
        [running, base]: [Named<'a>; 2],
        proposed: Proposed<'_>,
        resolution: Resolution,
    ) -> Result<(Self, Changes)> {
        let mut merging = Self {
            changed: Changed::between(&base, &running, basis.base.changes)?,
            running,
            base,
            basis,
            resolution,
            changes: proposed.named,
            stored: Arc::clone(proposed.stored),
            conflicts: Vec::new(),
            settled: BTreeSet::new(),
        };
        let stamps = merging.stamps()?;
        if basis.known != Known::Everything {
            merging.written_where_nothing_is()?;
        }
        merging.keys()?;
        merging.positions()?;
        if let Known::Changed(version) = basis.known {
            merging.gaps(version, &proposed.lost)?;
            merging.cases_of_candidate()?;
        }
        merging.cases()?;
        Ok((merging, stamps))
    }

    /// The changes, for modification.
    pub fn changing(&mut self) -> &mut Changes {
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
    pub fn settle(&mut self, key: &[u8]) {
        if self.is_settled(key) {
            return;
        }
        let inner = self
            .settled
            .range::<[u8], _>((Bound::Included(key), Bound::Unbounded));
        let inner = inner.take_while(|inner| inner.starts_with(key)).cloned();
        for inner in inner.collect::<Vec<_>>() {
            self.settled.remove(&inner);
        }
        self.settled.insert(key.to_vec());
    }

    /// Whether a key is in a resolved subtree.
    pub fn is_settled(&self, key: &[u8]) -> bool {
        let before = self
            .settled
            .range::<[u8], _>((Bound::Unbounded, Bound::Included(key)));
        before
            .last()
            .is_some_and(|settled| key.starts_with(settled))
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
        super::resolve::PLACES
            .iter()
            .any(|&place| self.writes_below(&crate::tree::in_subspace(key, place)))
    }
}
