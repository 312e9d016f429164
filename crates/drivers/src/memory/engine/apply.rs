//! A batch, applied to the newest state: a small one where the state is, so that nothing is copied of
//! what no reader holds, and others to a clone of it, so that readers do not wait.

use espalier_keyspace::{Batch, ByteMap, OperationRef, Result, Version, counter};

use super::state::{Newest, State};
use crate::recent::{Effect, Recorder};

/// Operations of a batch that readers wait for: some milliseconds' worth.
const OPERATIONS_MAX: usize = 4096;

/// Applies a batch, which makes `version` of the state, or the next one where there is none given and
/// anything changed. Returns the version of the state. Where it fails, as a counter can, nothing
/// changed. One caller at a time.
pub(crate) fn apply(
    newest: &Newest,
    batch: &Batch,
    recorder: &mut Recorder,
    version: Option<Version>,
) -> Result<Version> {
    let is_add = |operation| matches!(operation, OperationRef::Add(..));
    let is_range = |operation| matches!(operation, OperationRef::DeleteRange(_));
    let count = batch.operations().len();
    let next = |state: &State, recorder: &Recorder| match recorder.effect() {
        Effect::Nothing => version.unwrap_or(state.version),
        Effect::Changed => version.unwrap_or(Version(state.version.0 + 1)),
    };
    // How much a range holds is not known before.
    if count > OPERATIONS_MAX || batch.operations().any(is_range) {
        let mut state = newest.get();
        let mut operations = batch.operations();
        operations.try_for_each(|operation| step(&mut state.map, operation, recorder, None))?;
        state.version = next(&state, recorder);
        let version = state.version;
        newest.replace(state);
        return Ok(version);
    }
    let mut replaced = batch.operations().any(is_add).then(Vec::new);
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
    replaced: Option<&mut Replaced<'a>>,
) -> Result<()> {
    if let Some(replaced) = replaced
        && let OperationRef::Put(key, _) | OperationRef::Delete(key) | OperationRef::Add(key, _) =
            operation
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
            let sum = counter::add(key, map.get(key), delta)?;
            recorder.put(key, &sum);
            map.insert(key, &sum);
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
