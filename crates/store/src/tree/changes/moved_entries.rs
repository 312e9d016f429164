//! Which entries of a list ordered by user moved.

use espalier_yang::Keys;
use rustc_hash::{FxHashMap, FxHashSet};

/// The entries that must be moved to get from one order to another: those outside of a longest run of entries whose order is
/// the same.
pub(crate) fn moved_entries<'k>(
    before: impl IntoIterator<Item = &'k Keys>,
    after: impl IntoIterator<Item = &'k Keys>,
) -> FxHashSet<&'k Keys> {
    let places: FxHashMap<&Keys, usize> = before.into_iter().zip(0..).collect();
    let common: Vec<(&Keys, usize)> = after
        .into_iter()
        .filter_map(|keys| Some((keys, *places.get(keys)?)))
        .collect();
    let kept: FxHashSet<usize> = longest_increasing(&common).into_iter().collect();
    let moved = common.iter().enumerate();
    moved
        .filter(|(index, _)| !kept.contains(index))
        .map(|(_, (keys, _))| *keys)
        .collect()
}

/// The places of a longest run of increasing numbers.
fn longest_increasing(entries: &[(&Keys, usize)]) -> Vec<usize> {
    // The last entry of the best run of each length, and the entry before each in its run.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(entries.len());
    for (index, (_, place)) in entries.iter().enumerate() {
        let length = ends.partition_point(|&end| entries[end].1 < *place);
        before.push(length.checked_sub(1).map(|last| ends[last]));
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut run: Vec<usize> =
        std::iter::successors(ends.last().copied(), |&index| before[index]).collect();
    run.reverse();
    run
}

#[cfg(test)]
mod tests {
    use espalier_yang::Value;

    use super::*;

    fn keys(numbers: &[u64]) -> Vec<Keys> {
        let value = |number: &u64| Keys::Values(vec![Value::Uint64(*number)]);
        numbers.iter().map(value).collect()
    }

    #[test]
    fn few_entries_are_moved() {
        for (before, after, expected) in [
            (&[1, 2, 3][..], &[1, 2, 3][..], 0),
            (&[1, 2, 3], &[3, 1, 2], 1),
            (&[1, 2, 3], &[3, 2, 1], 2),
            (&[1, 2, 3, 4], &[9, 2, 1, 4], 1),
            (&[], &[1], 0),
        ] {
            let (before, after) = (keys(before), keys(after));
            assert_eq!(moved_entries(&before, &after).len(), expected, "{after:?}");
        }
    }
}
