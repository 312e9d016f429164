//! Applies a batch to the newest state: a small one in place, so that unshared nodes are not copied; a
//! larger one to a clone, so that readers do not wait.

use espalier_keyspace::{Batch, ByteMap, CounterUpdate, Direction, OperationRef, Result, Version};

use super::state::{LatestState, VersionedMap};
use crate::recent_commits::{Effect, Recorder};

// A clone for each small commit would copy the path to each key: docs/decisions/0027.
/// Maximum number of keys that a batch changes in place, which blocks readers for about 0.1 ms. For larger
/// batches the cost of copying is relatively small.
const KEYS_MAX: usize = 256;

/// Applies a batch and returns the version of the new state: `version`, or by default the next one if
/// anything changed. If it fails, as a counter can, nothing is changed. Called by one thread at a time.
pub(crate) fn apply(
    newest: &LatestState,
    batch: &Batch,
    recorder: &mut Recorder,
    version: Option<Version>,
) -> Result<Version> {
    let next = |state: &VersionedMap, recorder: &Recorder| match recorder.effect() {
        Effect::Nothing => version.unwrap_or(state.version),
        Effect::Changed => version.unwrap_or(Version(state.version.0 + 1)),
    };
    let has_adds = batch.operations().any(is_add);
    if !newest.read_with(|state| is_small(&state.map, batch, has_adds)) {
        let mut state = newest.get();
        let mut operations = batch.operations();
        operations
            .try_for_each(|operation| apply_operation(&mut state.map, operation, recorder, None))?;
        state.version = next(&state, recorder);
        let version = state.version;
        newest.replace(state);
        return Ok(version);
    }
    let mut replaced = has_adds.then(Vec::new);
    newest.update(|state| {
        let mut operations = batch.operations();
        let applied = operations.try_for_each(|operation| {
            apply_operation(&mut state.map, operation, recorder, replaced.as_mut())
        });
        match applied {
            Ok(()) => state.version = next(state, recorder),
            Err(_) => undo(&mut state.map, replaced.unwrap_or_default()),
        }
        applied.map(|()| state.version)
    })
}

fn is_add(operation: OperationRef<'_>) -> bool {
    matches!(operation, OperationRef::Add(..))
}

/// Whether a batch changes few keys. The values in deleted ranges are not logged for undo, so a batch with
/// a deleted range must be unable to fail.
fn is_small(map: &ByteMap, batch: &Batch, has_adds: bool) -> bool {
    let mut left = KEYS_MAX;
    batch.operations().all(|operation| {
        let keys = match operation {
            OperationRef::DeleteRange(_) if has_adds => return false,
            OperationRef::DeleteRange(range) => {
                map.scan(range, Direction::Forward).take(left + 1).count()
            }
            _ => 1,
        };
        let fits = keys <= left;
        left = left.saturating_sub(keys);
        fits
    })
}

/// The changed keys in order, each with its old value.
type UndoLog<'a> = Vec<(&'a [u8], OldValue)>;

/// The old value of a key.
enum OldValue {
    Absent,
    Counter([u8; 8]),
    Value(Vec<u8>),
}

impl OldValue {
    fn of(value: Option<&[u8]>) -> Self {
        value.map_or(Self::Absent, |value| match value.try_into() {
            Ok(counter) => Self::Counter(counter),
            Err(_) => Self::Value(value.to_vec()),
        })
    }
}

fn apply_operation<'a>(
    map: &mut ByteMap,
    operation: OperationRef<'a>,
    recorder: &mut Recorder,
    mut replaced: Option<&mut UndoLog<'a>>,
) -> Result<()> {
    if let Some(replaced) = replaced.as_mut()
        && let OperationRef::Put(key, _) | OperationRef::Delete(key) = operation
    {
        replaced.push((key, OldValue::of(map.get(key))));
    }
    match operation {
        OperationRef::Put(key, value) => {
            recorder.put(key, value);
            map.insert(key, value);
        }
        OperationRef::Delete(key) => {
            if map.remove(key) {
                recorder.delete(key);
            }
        }
        OperationRef::DeleteRange(range) => {
            if map.remove_range(range) > 0 {
                recorder.delete_range(range);
            }
        }
        OperationRef::Add(key, delta) => {
            let CounterUpdate { before, sum } = map.add(key, delta)?;
            recorder.put(key, &sum);
            if let Some(replaced) = replaced {
                replaced.push((key, before.map_or(OldValue::Absent, OldValue::Counter)));
            }
        }
    }
    Ok(())
}

fn undo(map: &mut ByteMap, replaced: UndoLog<'_>) {
    for (key, before) in replaced.into_iter().rev() {
        match before {
            OldValue::Absent => drop(map.remove(key)),
            OldValue::Counter(value) => map.insert(key, &value),
            OldValue::Value(value) => map.insert(key, &value),
        }
    }
}
