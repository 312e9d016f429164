//! The changes of running since the base version.

use std::collections::{BTreeMap, BTreeSet};

use espalier_keyspace::{Direction, Snapshot};

use super::merging::{BaseCoverage, MergeBasis};
use super::moves::{Moves, Repositioned};
use super::named_state::NamedState;
use crate::error::Result;
use crate::position::Position;
use crate::subspace::Subspace;
use crate::tree::change::logged_ranges;
use crate::tree::locate::in_subspace;

/// The base value and the value in running of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ValuePair {
    pub base: Option<Vec<u8>>,
    pub running: Option<Vec<u8>>,
}

/// The named keys whose values changed in running.
#[derive(Clone, Debug, Default)]
pub(super) struct RunningChanges {
    keys: BTreeMap<Vec<u8>, ValuePair>,
    /// If the base is partial, the entries that moved among the saved ones, as keys of the tree.
    moved_among_saved: Option<BTreeSet<Vec<u8>>>,
}

impl RunningChanges {
    /// The keys that differ between the base and running.
    pub fn between(
        base: &NamedState<'_>,
        running: &NamedState<'_>,
        basis: &MergeBasis<'_>,
    ) -> Result<Self> {
        // The changes from running to the base.
        let back = basis.base.changes;
        let mut names = BTreeSet::new();
        for (key, value) in back.written() {
            if value.is_some() {
                names.extend(base.name(key)?);
            }
            if running.stored.snapshot.get(key)?.is_some() {
                names.extend(running.name(key)?);
            }
        }
        // An entry with another position has another key.
        let order = running.stored.tree.prefix(Subspace::Order);
        let entries = names.iter().filter(|name| name.starts_with(&order));
        let entries: Vec<_> = entries
            .map(|row| in_subspace(row, Subspace::Tree))
            .collect();
        names.extend(entries);
        // The base was empty in this range: all of running's rows are new.
        for range in logged_ranges(running.stored.tree) {
            if !back.is_cleared(&range.start) {
                continue;
            }
            let mut cursor = running.stored.snapshot.scan(&range, Direction::Forward)?;
            while let Some((key, _)) = cursor.next()? {
                names.extend(running.name(key)?);
            }
        }
        let mut changed = Self::default();
        for name in names {
            let pair = ValuePair {
                base: base.get(&name)?.map(std::borrow::Cow::into_owned),
                running: running.get(&name)?.map(std::borrow::Cow::into_owned),
            };
            if pair.base != pair.running {
                changed.keys.insert(name, pair);
            }
        }
        changed.forget_unmoved(base, running, basis)?;
        Ok(changed)
    }

    /// Removes the entries that have another position but the same place in the order: running's position
    /// is used for them.
    fn forget_unmoved(
        &mut self,
        base: &NamedState<'_>,
        running: &NamedState<'_>,
        basis: &MergeBasis<'_>,
    ) -> Result<()> {
        let mut entries = Vec::new();
        for (entry, pair) in self.positions() {
            let (Some(before), Some(after)) = (pair.base, pair.running) else {
                continue;
            };
            entries.push(Repositioned {
                entry,
                before: Position::take(&mut before.as_slice())?,
                after: Position::take(&mut after.as_slice())?,
            });
        }
        let moves = Moves {
            before: base,
            after: running,
            certain: None,
            entries: &entries,
        };
        if basis.coverage != BaseCoverage::Complete {
            let among_saved = Moves {
                certain: Some(basis.base.changes),
                ..moves
            };
            let mut moved: BTreeSet<_> = entries.iter().map(|one| one.entry.clone()).collect();
            for entry in among_saved.unmoved()? {
                moved.remove(&entry);
            }
            self.moved_among_saved = Some(moved);
        }
        for entry in moves.unmoved()? {
            self.keys.remove(&in_subspace(&entry, Subspace::Order));
        }
        Ok(())
    }

    /// The changed keys of the tree with both values, in key order: ancestors first.
    pub fn rows(&self) -> Vec<(Vec<u8>, ValuePair)> {
        let rows = self.keys.iter();
        rows.filter(|(key, _)| key[0] == Subspace::Tree as u8)
            .map(|(key, pair)| (key.clone(), pair.clone()))
            .collect()
    }

    /// Whether running created, moved or deleted an entry of a list ordered by user.
    pub fn has_position(&self, entry: &[u8]) -> bool {
        self.keys.contains_key(&in_subspace(entry, Subspace::Order))
    }

    /// Whether an entry has its place in the order of the base. Of a partial base only the saved entries count:
    /// whether others were there before is uncertain.
    pub fn is_in_place(&self, entry: &[u8]) -> bool {
        match &self.moved_among_saved {
            Some(moved) => !moved.contains(entry),
            None => !self.has_position(entry),
        }
    }

    /// The entries whose positions changed, as keys of the tree, with their positions.
    pub fn positions(&self) -> Vec<(Vec<u8>, ValuePair)> {
        let rows = self.keys.iter();
        rows.filter(|(key, _)| key[0] == Subspace::Order as u8)
            .map(|(key, pair)| (in_subspace(key, Subspace::Tree), pair.clone()))
            .collect()
    }
}
