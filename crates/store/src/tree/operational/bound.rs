//! Boundaries of ranges of a union, in the tree above: they need not be keys, as the end of a
//! subtree is its key with the last byte counted up.

use espalier_keyspace::{Direction, KeyRange, tuple};
use espalier_yang::NodeId;

use super::union::{Root, Union};
use crate::error::Result;
use crate::keys::take_local_id;
use crate::position::Position;
use crate::subspace::Subspace;
use crate::tree::locate::in_subspace;
use crate::tree::read::skip_entry;

/// Whether the tree above has entries with an order index in a range, or may have.
pub(super) fn has_order(union: Union<'_>, root: &Root, range: &KeyRange) -> Result<bool> {
    if !union.compiled.holds_order_anywhere() {
        return Ok(false);
    }
    let end = range.end.as_deref().unwrap_or_default();
    let pairs = range.start.iter().zip(end);
    let common = pairs.take_while(|(one, two)| one == two).count();
    let mut above = root.above.clone();
    if let Some(rest) = range.start[..common].strip_prefix(root.shown.as_slice()) {
        let stable = before_position(union, root.node, rest);
        above.extend_from_slice(&rest[..stable]);
    }
    let index = KeyRange::prefix(&in_subspace(&above, Subspace::Order));
    let mut cursor = union.above.snapshot.scan(&index, Direction::Forward)?;
    Ok(cursor.next()?.is_some())
}

/// How many bytes of a key below `parent` come before the first position in it.
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

/// The entry in both trees that a range begins within, behind the entry's own key.
pub(super) fn beginning(union: Union<'_>, root: &Root, range: &KeyRange) -> Result<Option<Root>> {
    let (key, at) = (&range.start, root.shown.len());
    if !key.starts_with(&root.shown) {
        return Ok(None);
    }
    match union.first_entry(root.node, key, at) {
        Some(entry) if entry.end < key.len() => union.in_both(root, key, &entry),
        _ => Ok(None),
    }
}

/// A range of the tree above that holds every key which only that tree has in `range`; others too.
pub(super) fn above_range(union: Union<'_>, root: &Root, range: &KeyRange) -> KeyRange {
    let all = KeyRange::prefix(&root.above);
    let start = match place_above(union, root, &range.start) {
        Some(Place::At(place) | Place::Within(place)) => place,
        None => all.start,
    };
    let end = range.end.as_deref();
    let end = match end.and_then(|end| place_above(union, root, end)) {
        Some(Place::At(place)) => Some(place),
        Some(Place::Within(list)) => KeyRange::prefix(&list).end,
        None => all.end,
    };
    KeyRange { start, end }
}

/// A boundary in the tree above.
enum Place {
    /// What is at or behind the boundary in the union is at or behind this.
    At(Vec<u8>),
    /// The boundary is somewhere in this list.
    Within(Vec<u8>),
}

/// The boundary in the tree above; none where it is not in what `root` holds.
fn place_above(union: Union<'_>, root: &Root, place: &[u8]) -> Option<Place> {
    let mut rest = place.strip_prefix(root.shown.as_slice())?;
    let mut above = root.above.clone();
    let mut parent = root.node;
    loop {
        let step = rest;
        let child = take_local_id(&mut rest)
            .ok()
            .and_then(|id| union.compiled.layout.child(parent, id))
            .filter(|&child| union.compiled.holds_order(child));
        let Some(child) = child else {
            above.extend_from_slice(step);
            return Some(Place::At(above));
        };
        let node = union.schema().node(child);
        if node.is_positional() {
            above.extend_from_slice(&step[..step.len() - rest.len()]);
            let Ok(whole) = Position::take_whole(&mut rest) else {
                return Some(Place::Within(above));
            };
            if !union.is_own_whole(whole) {
                // What only the tree above has is behind everything else of the list.
                return Some(Place::At(above));
            }
            tuple::put_signed(&mut above, whole - union.shift);
            let after_whole = rest;
            if Position::skip_fraction(&mut rest).is_err() {
                above.extend_from_slice(after_whole);
                return Some(Place::At(above));
            }
            above.extend_from_slice(&after_whole[..after_whole.len() - rest.len()]);
        } else if skip_entry(node, &mut rest).is_err() {
            above.extend_from_slice(step);
            return Some(Place::At(above));
        } else {
            above.extend_from_slice(&step[..step.len() - rest.len()]);
        }
        parent = Some(child);
    }
}
