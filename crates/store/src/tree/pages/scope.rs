//! The range of the keys of entries that can be on a page.

use espalier_keyspace::{Direction, KeyRange};
use espalier_yang::schema::Node;
use espalier_yang::{Keys, Value};

use super::condition::PageCondition;
use super::cursor::Side;
use crate::error::Result;
use crate::tree::locate::TreeState;

/// The range of the entries of a list with these leading keys, and for which a condition can be true; `None` if there
/// are none. An index of other leaves than keys would be used here, and in `sorted.rs`.
pub(super) fn range_of(
    state: TreeState<'_>,
    (list, node): (&[u8], &Node),
    condition: &PageCondition,
    keys: &Keys,
) -> Result<Option<KeyRange>> {
    let mut range = KeyRange::strictly_below(list);
    let of_condition = match condition {
        PageCondition::Never => return Ok(None),
        PageCondition::All => &[][..],
        PageCondition::Expression(condition) => condition.keys.as_slice(),
    };
    let of_filter = match keys {
        Keys::Values(values) => values.as_slice(),
        _ => &[],
    };
    for values in [of_condition, of_filter] {
        let Some(of_values) = range_of_keys(state, (list, node), values)? else {
            return Ok(None);
        };
        range = intersected(range, of_values);
    }
    Ok((!is_empty(&range)).then_some(range))
}

/// The range of the entries with these leading keys.
fn range_of_keys(
    state: TreeState<'_>,
    (list, node): (&[u8], &Node),
    values: &[Value],
) -> Result<Option<KeyRange>> {
    if values.is_empty() || (node.is_leaf_list() && node.is_positional() && !node.is_config) {
        return Ok(Some(KeyRange::strictly_below(list)));
    }
    let mut prefix = list.to_vec();
    let keys = Keys::Values(values.to_vec());
    let exists = state.put_entry(&mut prefix, node.id, &keys)?;
    Ok(exists.then(|| KeyRange::prefix(&prefix)))
}

/// The part of a range on one side of an entry, in a direction.
pub(super) fn on_side(
    range: &KeyRange,
    entry: &[u8],
    side: Side,
    direction: Direction,
) -> KeyRange {
    let part = match (side, direction) {
        (Side::After, Direction::Forward) | (Side::Before, Direction::Backward) => KeyRange {
            start: KeyRange::prefix(entry).end.unwrap_or_default(),
            end: None,
        },
        _ => KeyRange {
            start: Vec::new(),
            end: Some(entry.to_vec()),
        },
    };
    intersected(range.clone(), part)
}

/// Whether a range has no key.
pub(super) fn is_empty(range: &KeyRange) -> bool {
    range.end.as_ref().is_some_and(|end| *end <= range.start)
}

fn intersected(one: KeyRange, other: KeyRange) -> KeyRange {
    let end = match (one.end, other.end) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    KeyRange {
        start: one.start.max(other.start),
        end,
    }
}
