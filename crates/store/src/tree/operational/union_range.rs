//! Boundaries of ranges of a union, mapped to the tree above. They need not be keys: the end of a subtree
//! is its key with the last byte incremented.

use espalier_keyspace::{Direction, KeyRange, tuple};
use espalier_yang::NodeId;

use super::union::{SharedRoot, Union};
use crate::error::Result;
use crate::keys::take_local_id;
use crate::position::Position;
use crate::subspace::Subspace;
use crate::tree::locate::in_subspace;
use crate::tree::read::skip_entry;

/// Whether the tree above has, or may have, entries with an order index in a range.
pub(super) fn has_order(union: Union<'_>, root: &SharedRoot, range: &KeyRange) -> Result<bool> {
    if !union.compiled.contains_order_anywhere() {
        return Ok(false);
    }
    let end = range.end.as_deref().unwrap_or_default();
    let pairs = range.start.iter().zip(end);
    let common = pairs.take_while(|(one, two)| one == two).count();
    let mut above = root.above.clone();
    if let Some(rest) = range.start[..common].strip_prefix(root.union_key.as_slice()) {
        let stable = before_position(union, root.node, rest);
        above.extend_from_slice(&rest[..stable]);
    }
    let index = KeyRange::prefix(&in_subspace(&above, Subspace::Order));
    let mut cursor = union.above.snapshot.scan(&index, Direction::Forward)?;
    Ok(cursor.next()?.is_some())
}

/// The number of bytes of a key below `parent` before the first position in it.
fn before_position(union: Union<'_>, parent: Option<NodeId>, key: &[u8]) -> usize {
    let (mut parent, mut rest) = (parent, key);
    while let Ok(id) = take_local_id(&mut rest) {
        let Some(child) = union.compiled.layout.child(parent, id) else {
            break;
        };
        let node = union.schema().node(child);
        if node.is_positional() {
            return key.len() - rest.len();
        }
        if skip_entry(node, &mut rest).is_err() {
            break;
        }
        parent = Some(child);
    }
    key.len()
}

/// The entry of both trees in whose content a range begins.
pub(super) fn entry_at_start(
    union: Union<'_>,
    root: &SharedRoot,
    range: &KeyRange,
) -> Result<Option<SharedRoot>> {
    let (key, at) = (&range.start, root.union_key.len());
    if !key.starts_with(&root.union_key) {
        return Ok(None);
    }
    match union.first_entry(root.node, key, at) {
        Some(entry) if entry.end < key.len() => union.in_both(root, key, &entry),
        _ => Ok(None),
    }
}

/// A range of the tree above that contains at least every key of `range` that only that tree has.
pub(super) fn above_range(union: Union<'_>, root: &SharedRoot, range: &KeyRange) -> KeyRange {
    let all = KeyRange::prefix(&root.above);
    let start = match boundary_above(union, root, &range.start) {
        Some(Boundary::At(place) | Boundary::Within(place)) => place,
        None => all.start,
    };
    let end = range.end.as_deref();
    let end = match end.and_then(|end| boundary_above(union, root, end)) {
        Some(Boundary::At(place)) => Some(place),
        Some(Boundary::Within(list)) => KeyRange::prefix(&list).end,
        None => all.end,
    };
    KeyRange { start, end }
}

/// A boundary in the tree above.
enum Boundary {
    /// Keys at or after the boundary in the union are at or after this one.
    At(Vec<u8>),
    /// The boundary is inside this list.
    Within(Vec<u8>),
}

/// The boundary in the tree above; none if it is outside `root`.
fn boundary_above(union: Union<'_>, root: &SharedRoot, place: &[u8]) -> Option<Boundary> {
    let mut rest = place.strip_prefix(root.union_key.as_slice())?;
    let mut above = root.above.clone();
    let mut parent = root.node;
    loop {
        let step = rest;
        let child = take_local_id(&mut rest)
            .ok()
            .and_then(|id| union.compiled.layout.child(parent, id))
            .filter(|&child| union.compiled.contains_order(child));
        let Some(child) = child else {
            above.extend_from_slice(step);
            return Some(Boundary::At(above));
        };
        let node = union.schema().node(child);
        if node.is_positional() {
            above.extend_from_slice(&step[..step.len() - rest.len()]);
            let Ok(whole) = Position::take_whole(&mut rest) else {
                return Some(Boundary::Within(above));
            };
            if !union.is_above_only_integer(whole) {
                // Entries that only the tree above has follow all others of the list.
                return Some(Boundary::At(above));
            }
            tuple::put_signed(&mut above, whole - union.shift);
            let after_whole = rest;
            if Position::skip_fraction(&mut rest).is_err() {
                above.extend_from_slice(after_whole);
                return Some(Boundary::At(above));
            }
            above.extend_from_slice(&after_whole[..after_whole.len() - rest.len()]);
        } else if skip_entry(node, &mut rest).is_err() {
            above.extend_from_slice(step);
            return Some(Boundary::At(above));
        } else {
            above.extend_from_slice(&step[..step.len() - rest.len()]);
        }
        parent = Some(child);
    }
}
