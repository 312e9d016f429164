//! Rebuilds indexes and counts from the data: after a load, and if the rules need other indexes.

use espalier_keyspace::{Direction, KeyRange, Writer};

use super::index::{self, Updates};
use crate::compiled_schema_set::Compiled;
use crate::error::Result;
use crate::keys::TreeId;
use crate::subspace::Subspace;
use crate::tree::change::KeyChange;
use crate::tree::locate::TreeState;

/// Number of index entries collected before they are written in key order.
const UPDATES_AT_ONCE: usize = 1 << 16;

// Only indexes that constraints read, so a model without them pays nothing: docs/decisions/0018.
/// Rebuilds the indexes and counts of a tree, from the current state of a write.
pub(in crate::tree) fn rebuild(
    compiled: &Compiled,
    tree: TreeId,
    writer: &mut dyn Writer,
) -> Result<()> {
    for subspace in [Subspace::Index, Subspace::Count] {
        writer.delete_range(&KeyRange::prefix(&tree.prefix(subspace)))?;
    }
    if compiled.index_definition().is_empty() {
        return Ok(());
    }
    let all = KeyRange::prefix(&tree.prefix(Subspace::Tree));
    let mut from = Some(all.start);
    while let Some(start) = from.take() {
        let range = KeyRange {
            start,
            end: all.end.clone(),
        };
        let mut writes = Vec::new();
        {
            let snapshot = writer.snapshot()?;
            let state = TreeState::new(&*snapshot, compiled, tree);
            let mut updates = Updates::default();
            from = record_range(&state, &range, &mut updates)?;
            updates.finish(&state, &mut |key, value| {
                writes.push((key, value));
                Ok(())
            })?;
        }
        for (key, value) in writes {
            if let Some(value) = value {
                writer.put(&key, &value)?;
            }
        }
    }
    Ok(writer.put(&index::definition_key(tree), compiled.index_definition())?)
}

/// Records the keys of a range until there is enough to write; returns where to continue.
pub(super) fn record_range(
    state: &TreeState<'_>,
    range: &KeyRange,
    updates: &mut Updates,
) -> Result<Option<Vec<u8>>> {
    let mut cursor = state.snapshot.scan(range, Direction::Forward)?;
    while let Some((key, value)) = cursor.next()? {
        if let Some(trail) = state.trail(key)? {
            let (old, new) = (None, Some(value));
            updates.record_old_uniques(None, state, key, &trail)?;
            updates.record(state, &KeyChange { key, old, new }, &trail)?;
        }
        if updates.len() >= UPDATES_AT_ONCE {
            let mut next = key.to_vec();
            next.push(0);
            return Ok(Some(next));
        }
    }
    Ok(None)
}
