//! Verifies that indexes and counts match the data.

use espalier_keyspace::{Direction, KeyRange};
use espalier_yang::instances::Sum;

use super::index::{
    CountDifferences, SumDifferences, Updates, are_indexes_current, decode_sum, definition_key,
};
use super::rebuild::record_range;
use crate::error::Result;
use crate::fragment::take_varint;
use crate::subspace::Subspace;
use crate::tree::locate::TreeState;

/// Compares the indexes and counts of a state with its data, in one pass over each; reports every wrong
/// key. Does nothing if there are no indexes (they are built before the next commit).
pub(crate) fn verify_indexes(
    state: &TreeState<'_>,
    wrong: &mut dyn FnMut(&[u8], &str),
) -> Result<()> {
    let is_none = state.compiled.index_definition().is_empty();
    if is_none || !are_indexes_current(state.compiled, state.tree, state.snapshot)? {
        return Ok(());
    }
    let all = KeyRange::prefix(&state.tree.prefix(Subspace::Tree));
    let (mut from, mut expected) = (Some(all.start), 0u64);
    let mut counts = CountDifferences::new();
    let mut sums = SumDifferences::new();
    // An entry and its containers may be recorded separately, and report the same `unique` twice.
    let mut last = Vec::new();
    while let Some(start) = from.take() {
        let range = KeyRange {
            start,
            end: all.end.clone(),
        };
        let mut updates = Updates::default();
        from = record_range(state, &range, &mut updates)?;
        let (keys, differences, more) = updates.expected(state)?;
        for (key, difference) in more {
            sums.entry(key).or_default().merge(difference);
        }
        for key in keys {
            if state.snapshot.get(&key)?.is_none() {
                wrong(&key, "the index lacks a value that is stored");
            }
            expected += u64::from(key != last);
            last = key;
        }
        for (key, difference) in differences {
            *counts.entry(key).or_default() += difference;
        }
    }
    for (key, sum) in sums {
        let sum = sum.apply(Sum::default());
        let stored = state.snapshot.get(&key)?;
        let is_right = match stored.as_deref() {
            Some(stored) => decode_sum(stored)? == sum && sum != Sum::default(),
            None => sum == Sum::default(),
        };
        if !is_right {
            wrong(&key, "a sum differs from that of the values");
        }
        expected += u64::from(sum != Sum::default());
    }
    let stored = index_keys(state)?;
    if stored != expected {
        let problem = format!("the indexes have {stored} keys, the data requires {expected}");
        wrong(&definition_key(state.tree), &problem);
    }
    verify_counts(state, counts, wrong)
}

/// The number of index keys, without the index definition.
fn index_keys(state: &TreeState<'_>) -> Result<u64> {
    let range = KeyRange::prefix(&state.tree.prefix(Subspace::Index));
    let mut cursor = state.snapshot.scan(&range, Direction::Forward)?;
    let mut keys = 0u64;
    while cursor.next()?.is_some() {
        keys += 1;
    }
    Ok(keys.saturating_sub(1))
}

fn verify_counts(
    state: &TreeState<'_>,
    mut expected: CountDifferences,
    wrong: &mut dyn FnMut(&[u8], &str),
) -> Result<()> {
    let range = KeyRange::prefix(&state.tree.prefix(Subspace::Count));
    let mut cursor = state.snapshot.scan(&range, Direction::Forward)?;
    while let Some((key, value)) = cursor.next()? {
        let count = take_varint(&mut &*value)?;
        if i64::try_from(count) != Ok(expected.remove(key).unwrap_or_default()) {
            wrong(
                key,
                "the count of a list differs from its number of entries",
            );
        }
    }
    for (key, _) in expected {
        wrong(&key, "the count of a list is missing");
    }
    Ok(())
}
