//! A batch, applied to the newest state: a small one where the state is, so that nothing is copied of
//! what no reader holds, and others to a clone of it, so that readers do not wait.

use espalier_keyspace::{Added, Batch, ByteMap, Direction, OperationRef, Result, Version};

use super::state::{Newest, State};
use crate::recent_commits::{Effect, Recorder};

/// Keys that a batch changes while readers wait: a tenth of a millisecond's worth. Of a larger one, what
/// is copied first is the smaller part.
const KEYS_MAX: usize = 256;

/// Applies a batch, which makes `version` of the state, or the next one where there is none given and
/// anything changed. Returns the version of the state. Where it fails, as a counter can, nothing
/// changed. One caller at a time.
pub(crate) fn apply(
    newest: &Newest,
    batch: &Batch,
    recorder: &mut Recorder,
    version: Option<Version>,
) -> Result<Version> {
    let next = |state: &State, recorder: &Recorder| match recorder.effect() {
        Effect::Nothing => version.unwrap_or(state.version),
        Effect::Changed => version.unwrap_or(Version(state.version.0 + 1)),
    };
    let has_adds = batch.operations().any(is_add);
    if !newest.look(|state| is_small(&state.map, batch, has_adds)) {
        let mut state = newest.get();
        let mut operations = batch.operations();
        operations.try_for_each(|operation| step(&mut state.map, operation, recorder, None))?;
        state.version = next(&state, recorder);
        let version = state.version;
        newest.replace(state);
        return Ok(version);
    }
    let mut replaced = has_adds.then(Vec::new);
    newest.change(|state| {
        let mut operations = batch.operations();
        let applied = operations
            .try_for_each(|operation| step(&mut state.map, operation, recorder, replaced.as_mut()));
        match applied {
            Ok(()) => state.version = next(state, recorder),
            Err(_) => take_back(&mut state.map, replaced.unwrap_or_default()),
        }
        applied.map(|()| state.version)
    })
}

fn is_add(operation: OperationRef<'_>) -> bool {
    matches!(operation, OperationRef::Add(..))
}

/// Whether a batch changes few keys. What a range held is not noted, so that a batch with a range must
/// not fail.
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

/// Keys in the order in which they were changed, each with what it held.
type Replaced<'a> = Vec<(&'a [u8], Before)>;

/// What a key held.
enum Before {
    Nothing,
    Counter([u8; 8]),
    Value(Vec<u8>),
}

impl Before {
    fn of(value: Option<&[u8]>) -> Self {
        value.map_or(Self::Nothing, |value| match value.try_into() {
            Ok(counter) => Self::Counter(counter),
            Err(_) => Self::Value(value.to_vec()),
        })
    }
}

fn step<'a>(
    map: &mut ByteMap,
    operation: OperationRef<'a>,
    recorder: &mut Recorder,
    mut replaced: Option<&mut Replaced<'a>>,
) -> Result<()> {
    if let Some(replaced) = replaced.as_mut()
        && let OperationRef::Put(key, _) | OperationRef::Delete(key) = operation
    {
        replaced.push((key, Before::of(map.get(key))));
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
            let Added { before, sum } = map.add(key, delta)?;
            recorder.put(key, &sum);
            if let Some(replaced) = replaced {
                replaced.push((key, before.map_or(Before::Nothing, Before::Counter)));
            }
        }
    }
    Ok(())
}

fn take_back(map: &mut ByteMap, replaced: Replaced<'_>) {
    for (key, before) in replaced.into_iter().rev() {
        match before {
            Before::Nothing => drop(map.remove(key)),
            Before::Counter(value) => map.insert(key, &value),
            Before::Value(value) => map.insert(key, &value),
        }
    }
}
