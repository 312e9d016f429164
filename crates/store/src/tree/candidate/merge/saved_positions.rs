//! The saved positions of entries of lists ordered by user, as they were when a candidate was edited.
//!
//! Keys contain positions, which become meaningless once running puts another entry there. Next to its
//! changes, a candidate therefore stores the entries that contain them, with their positions. If the log no
//! longer reaches back to the base version, the changes find their entries by these rows.

use std::borrow::Cow;

use espalier_keyspace::{Direction, KeyRange};

use super::named_state::{Boundary, EntryIdentity, NamedState, is_within, list_keys};
use super::resolve::SUBSPACES;
use super::to_named_keys::with_prefix;
use crate::error::Result;
use crate::overlay::{Changes, Layered};
use crate::subspace::Subspace;
use crate::tree::locate::{TreeState, entry_prefix, in_subspace, order_key};

/// A stored key with its value.
type Row = (Vec<u8>, Vec<u8>);

/// The entries ordered by user that contain or equal a key, or a range of keys, with their rows of the
/// order index.
pub(in crate::tree::candidate) fn positions_of(
    state: TreeState<'_>,
    range: &KeyRange,
) -> Result<Vec<Row>> {
    let view = NamedState {
        stored: state,
        identity: EntryIdentity::ByKeys,
    };
    let start = in_subspace(&range.start, Subspace::Tree);
    let mut rows = Vec::new();
    let mut list = 0;
    for boundary in view.boundaries(&start, EntryIdentity::ByPosition) {
        if boundary.is_list_prefix {
            list = boundary.length;
        } else if view.is_entry(&boundary) {
            view.add_position(&start[..boundary.length], list, &mut rows)?;
            if boundary.length == start.len() {
                let end = range.end.as_ref();
                let next = KeyRange {
                    start: KeyRange::prefix(&start).end.unwrap_or_default(),
                    end: end.map(|end| in_subspace(end, Subspace::Tree)),
                };
                view.add_positions_in(
                    &next.intersection(&KeyRange::prefix(&start[..list])),
                    list,
                    &mut rows,
                )?;
            }
        }
    }
    Ok(rows)
}

/// The entries before and after the position in a row of the order index, with their own rows.
pub(in crate::tree::candidate) fn neighbours(
    state: TreeState<'_>,
    row: &[u8],
    position: &[u8],
) -> Result<Vec<Row>> {
    let view = NamedState {
        stored: state,
        identity: EntryIdentity::ByKeys,
    };
    let mut rows = Vec::new();
    let boundaries = view.boundaries(row, EntryIdentity::ByPosition);
    let Some(list) = boundaries.last().filter(|list| list.is_list_prefix) else {
        return Ok(rows);
    };
    let list = in_subspace(&row[..list.length], Subspace::Tree);
    let entry = [list.as_slice(), position].concat();
    let all = KeyRange::strictly_below(&list);
    let before = KeyRange::new(all.start, entry.clone());
    let behind = KeyRange {
        start: KeyRange::prefix(&entry).end.unwrap_or(entry),
        end: all.end,
    };
    for (range, direction) in [(before, Direction::Backward), (behind, Direction::Forward)] {
        if range.is_empty() {
            continue;
        }
        let mut cursor = state.snapshot.scan(&range, direction)?;
        if let Some((key, _)) = cursor.next()? {
            let neighbour = entry_prefix(&list, key)?.to_vec();
            view.add_position(&neighbour, list.len(), &mut rows)?;
        }
    }
    Ok(rows)
}

impl NamedState<'_> {
    /// Whether a boundary ends at an entry with a row in the order index.
    pub fn is_entry(&self, boundary: &Boundary) -> bool {
        let schema = self.stored.schema();
        !boundary.is_list_prefix
            && boundary
                .node
                .is_some_and(|node| self.is_indexed(schema.node(node)))
    }

    /// The length of the list's key, if a stored key ends at an entry.
    fn own_entry(&self, key: &[u8]) -> Option<usize> {
        let boundaries = self.boundaries(key, EntryIdentity::ByPosition);
        let last = boundaries.last().filter(|last| last.length == key.len())?;
        let list = boundaries
            .iter()
            .rev()
            .find(|boundary| boundary.is_list_prefix)?;
        self.is_entry(last).then_some(list.length)
    }

    /// Adds an entry and its row of the order index; `list` is the length of its list's key.
    fn add_position(&self, entry: &[u8], list: usize, rows: &mut Vec<Row>) -> Result<()> {
        let Some(value) = self.stored.snapshot.get(entry)?.map(Cow::into_owned) else {
            return Ok(());
        };
        let boundaries = self.boundaries(entry, EntryIdentity::ByPosition);
        let Some(node) = boundaries.last().and_then(|own| own.node) else {
            return Ok(());
        };
        let mut row = order_key(&entry[..list], &[]);
        row.extend(list_keys(self.stored.schema().node(node), &value)?);
        rows.push((row, entry[list..].to_vec()));
        rows.push((entry.to_vec(), value));
        Ok(())
    }

    /// Adds every entry in a range of one list.
    fn add_positions_in(&self, range: &KeyRange, list: usize, rows: &mut Vec<Row>) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let mut cursor = self.stored.snapshot.scan(range, Direction::Forward)?;
        while let Some((key, _)) = cursor.next()? {
            let entry = entry_prefix(&key[..list], key)?.to_vec();
            self.add_position(&entry, list, rows)?;
            let Some(end) = KeyRange::prefix(&entry).end else {
                break;
            };
            cursor.seek(&end)?;
        }
        Ok(())
    }

    /// The ranges of running that contain the entries of a stored range of the base.
    pub(super) fn ranges_in_running(
        &self,
        running: &NamedState<'_>,
        range: &KeyRange,
        back: &Changes,
    ) -> Result<Vec<KeyRange>> {
        let boundaries = self.boundaries(&range.start, EntryIdentity::ByPosition);
        let Some(entry) = boundaries.iter().rev().find(|own| self.is_entry(own)) else {
            return Ok(vec![range.clone()]);
        };
        let prefix = &range.start[..entry.length];
        if is_within(range, prefix) {
            let name = self.name(prefix)?;
            let now = name.map_or(Ok(None), |name| running.stored_key(&name))?;
            return Ok(now
                .map(|now| with_prefix(range, prefix, &now))
                .into_iter()
                .collect());
        }
        let mut ranges = Vec::new();
        for (key, _) in back.written_in(range) {
            if self.own_entry(key).is_some()
                && let Some(name) = self.name(key)?
                && let Some(now) = running.stored_key(&name)?
            {
                ranges.push(KeyRange::prefix(&now));
            }
        }
        Ok(ranges)
    }
}

/// The changes from running to the base, as far as its keys were saved. Entries that may have moved are
/// hidden at both positions, except for the saved rows.
pub(in crate::tree::candidate) fn saved_base(
    running: TreeState<'_>,
    back: &Changes,
) -> Result<Changes> {
    let running = NamedState {
        stored: running,
        identity: EntryIdentity::ByKeys,
    };
    let mut saved_base = back.clone();
    let tree = KeyRange::prefix(&running.stored.tree.prefix(Subspace::Tree));
    let base = Layered {
        base: running.stored.snapshot,
        changes: back,
    };
    let base = NamedState {
        stored: TreeState {
            snapshot: &base,
            ..running.stored
        },
        ..running
    };
    for (key, value) in back.written_in(&tree) {
        if base.own_entry(key).is_none() {
            continue;
        }
        let name = value.map_or(Ok(None), |_| base.name(key))?;
        let now = name
            .as_ref()
            .map_or(Ok(None), |name| running.stored_key(name))?;
        if now.as_deref() == Some(key) {
            continue;
        }
        for place in [Some(key.to_vec()), now].into_iter().flatten() {
            for subspace in SUBSPACES {
                saved_base.hide(&KeyRange::prefix(&in_subspace(&place, subspace)));
            }
            // Another entry that is at this position in running was elsewhere or absent in the base.
            if let Some(other) = running.name(&place)?
                && Some(&other) != name.as_ref()
                && let Some(row) = running.stored_key(&in_subspace(&other, Subspace::Order))?
                && !back.has_written(&row)
            {
                saved_base.delete(row);
            }
        }
    }
    Ok(saved_base)
}
