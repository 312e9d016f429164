//! The engine's own client, which writes the same in groups: the most that sharing writes can gain.

use espalier_keyspace::Operation;

use crate::harness::Timing;
use crate::model_store::ModelStore;
use crate::recorder::Trace;
use espalier_terminal::Result;

/// The number of commits in all groups, about.
const COMMITS: u64 = 20_000;

/// The smallest number of groups.
const GROUPS_MIN: u64 = 50;

/// The largest number of groups.
const GROUPS_MAX: u64 = 2_000;

/// Records as many commits as the groups have, by `commit`, and writes them with the engine's own client. Returns the time
/// of one group; none for memory.
pub fn measure(
    store: &ModelStore,
    members: u64,
    mut commit: impl FnMut() -> Result<()>,
) -> Result<Option<Timing>> {
    let Some(raw) = store.raw_copy()? else {
        return Ok(None);
    };
    let mut groups = Vec::new();
    for _ in 0..(COMMITS / members).clamp(GROUPS_MIN, GROUPS_MAX) {
        let mut operations: Vec<Operation> = Vec::new();
        for _ in 0..members {
            let trace = store.record(&mut commit)?;
            operations.extend(trace.commits.into_iter().flatten());
        }
        groups.push(Trace {
            reads: Vec::new(),
            commits: vec![operations],
        });
    }
    raw.replay(&groups).map(Some)
}
