//! Checks the files, and counts their content.

use std::fs;
use std::sync::Arc;

use espalier_keyspace::{ErrorKind, Finding, Result, Usage, VALUE_BYTES_MAX, is_key};

use super::names::{self, DATA, JOURNAL};
use super::open::Engine;
use super::replay::{Tail, replay};
use crate::files::{numbered_files, path_error};
use crate::memory::VersionedMap;

/// Maximum number of findings.
const FINDINGS_MAX: usize = 100;

/// Checks the files. Commits wait meanwhile.
pub(in crate::file) fn check(engine: &Arc<Engine>) -> Result<Vec<Finding>> {
    engine.check_not_replaced()?;
    let _not_compacting = engine.compacting.lock();
    let log = engine.log.lock();
    let state = engine.in_memory.newest.get();
    let replayed = replay(&engine.dir, Tail::Complete);
    drop(log);
    let finding = |problem: String| Finding {
        place: engine.dir.display().to_string(),
        problem,
    };
    match replayed {
        Ok(Some(replayed)) if is_same(&replayed.state, &state) => Ok(check_rows(&state)),
        Ok(_) => Ok(vec![finding(
            "the files differ from the data in memory; another program has written to them".into(),
        )]),
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(vec![finding(error.to_string())]),
        Err(error) => Err(error),
    }
}

fn is_same(one: &VersionedMap, other: &VersionedMap) -> bool {
    one.version == other.version && one.map.iter().eq(&other.map)
}

fn check_rows(state: &VersionedMap) -> Vec<Finding> {
    let is_wrong = |key: &[u8], value: &[u8]| !is_key(key) || value.len() > VALUE_BYTES_MAX;
    let wrong = state.map.iter().filter(|(key, value)| is_wrong(key, value));
    let findings = wrong.map(|(key, _)| Finding {
        place: format!("key {}", key.escape_ascii()),
        problem: "the key or the value has an invalid length".into(),
    });
    findings.take(FINDINGS_MAX).collect()
}

/// Returns how much is stored.
pub(in crate::file) fn usage(engine: &Arc<Engine>) -> Result<Usage> {
    let failed = path_error(&engine.dir, "read");
    let _not_compacting = engine.compacting.lock();
    let mut bytes = 0;
    let data = numbered_files(&engine.dir, DATA).map_err(failed)?;
    let journals = numbered_files(&engine.dir, JOURNAL).map_err(failed)?;
    let data = data.iter().map(|&number| names::data(&engine.dir, number));
    let journals = journals
        .iter()
        .map(|&number| names::journal(&engine.dir, number));
    for path in data.chain(journals) {
        bytes += fs::metadata(path).map_err(failed)?.len();
    }
    Ok(Usage {
        keys: engine.in_memory.newest.get().map.len() as u64,
        bytes,
    })
}
