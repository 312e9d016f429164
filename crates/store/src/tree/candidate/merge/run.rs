//! A merge under way, and its outcome.

use std::sync::Arc;

use espalier_keyspace::KeyRange;

use super::changed::Changed;
use super::conflict::{Conflict, Resolution};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::overlay::{Changes, Layered};
use crate::tree::locate::State;

/// What the changes of a candidate are merged on.
#[derive(Clone, Copy)]
pub(in crate::tree::candidate) struct Basis<'a> {
    /// Running as it is now.
    pub running: State<'a>,
    /// Running as the candidate was made on.
    pub base: Layered<'a>,
    /// How much of the base is known.
    pub known: Known,
    /// How many versions lie between.
    pub moved: u64,
    /// When running changed last.
    pub time: Timestamp,
}

/// How much is known of the version that a candidate was made on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tree::candidate) enum Known {
    /// All of it, by the log.
    Everything,
    /// The keys that the candidate changed; the log no longer reaches back to this version.
    Changed(u64),
}

/// The outcome of a merge.
pub(in crate::tree::candidate) struct Merged {
    /// The changes over running as it is now.
    pub changes: Arc<Changes>,
    /// Stamps that have to change because running changed something in what the candidate changed.
    pub stamps: Changes,
    /// What both changed differently.
    pub conflicts: Vec<Conflict>,
}

impl Merged {
    /// Changes on the very version that they were made on.
    pub fn unchanged(changes: &Arc<Changes>) -> Self {
        Self {
            changes: Arc::clone(changes),
            stamps: Changes::default(),
            conflicts: Vec::new(),
        }
    }
}

/// A merge under way.
pub(super) struct Merging<'a> {
    pub basis: Basis<'a>,
    pub resolution: Resolution,
    /// What running changed.
    pub changed: Changed,
    /// What the candidate changes.
    pub changes: Arc<Changes>,
    pub conflicts: Vec<Conflict>,
    /// Subtrees that are settled; what running changed in them is not looked at again.
    pub settled: Vec<Vec<u8>>,
}

/// Merges changes on running as it is now. Conflicts are resolved as asked, and told.
pub(in crate::tree::candidate) fn merge(
    basis: Basis<'_>,
    changes: &Arc<Changes>,
    resolution: Resolution,
) -> Result<Merged> {
    let changed = Changed::between(&basis)?;
    let mut merging = Merging {
        basis,
        resolution,
        changed,
        changes: Arc::clone(changes),
        conflicts: Vec::new(),
        settled: Vec::new(),
    };
    let stamps = merging.stamps()?;
    merging.orders()?;
    merging.keys()?;
    if let Known::Changed(version) = basis.known {
        merging.gaps(version)?;
    }
    merging.cases()?;
    Ok(Merged {
        changes: merging.changes,
        stamps,
        conflicts: merging.conflicts,
    })
}

impl Merging<'_> {
    /// The changes, to be changed.
    pub fn changing(&mut self) -> &mut Changes {
        Arc::make_mut(&mut self.changes)
    }

    /// Takes a subtree out of what is still to be merged.
    pub fn settle(&mut self, key: &[u8]) {
        self.settled.push(key.to_vec());
    }

    pub fn is_settled(&self, key: &[u8]) -> bool {
        self.settled.iter().any(|settled| key.starts_with(settled))
    }

    /// Whether the candidate writes a value at or below a key.
    pub fn writes_below(&self, key: &[u8]) -> bool {
        let range = KeyRange::prefix(key);
        self.changes
            .written_in(&range)
            .any(|(_, value)| value.is_some())
    }
}
