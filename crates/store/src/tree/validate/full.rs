//! Validates a whole datastore: on request, after a load, and after a change of its model.

use std::num::NonZero;
use std::sync::Arc;

use espalier_keyspace::{KeyRange, Snapshot, Version};
use espalier_yang::validate::{ValidationCost, WorkerShare, validate_measured};
use espalier_yang::xpath::evaluate::Limits;
use espalier_yang::{Errors, Instances};

use super::index::are_indexes_current;
use super::instances::{Indexes, StoreInstances};
use super::rebuild::rebuild;
use crate::compiled_schema_set::Compiled;
use crate::error::Result;
use crate::keys::TreeId;
use crate::overlay::{Changes, ChangesWriter, Layered, Overlay};
use crate::subspace::Subspace;
use crate::tree::locate::TreeState;
use crate::tree::{Tree, View};

/// Maximum number of tries to get snapshots of one version; then a single worker is used.
const SNAPSHOT_TRIES_MAX: usize = 8;

/// Validates every constraint in a state that has its indexes.
pub(in crate::tree) fn validate_whole(
    compiled: &Compiled,
    tree: TreeId,
    snapshot: &dyn Snapshot,
    share: WorkerShare,
) -> Result<(Errors, ValidationCost)> {
    let state = TreeState::new(snapshot, compiled, tree);
    let data = StoreInstances::new(state, Indexes::Current);
    let root = data.root();
    validate_measured(compiled.plan(), &data, &root, Limits::default(), share)
}

/// The indexes that the constraints need, if a state does not have them, as changes over it. With indexes
/// every constraint is a lookup; without them `unique` compares all pairs of entries.
fn missing_indexes(
    compiled: &Compiled,
    tree: TreeId,
    snapshot: &dyn Snapshot,
) -> Result<Arc<Changes>> {
    if are_indexes_current(compiled, tree, snapshot)? {
        return Ok(Arc::default());
    }
    let mut writer = ChangesWriter::new(snapshot);
    rebuild(compiled, tree, &mut writer)?;
    Ok(Arc::new(writer.into_changes()))
}

impl View {
    /// Validates every constraint (RFC 7950 §8.1) in this state, regardless of earlier validations.
    ///
    /// # Errors
    /// [`crate::Error::Data`] with every violation.
    pub fn validate(&self) -> Result<()> {
        let state = self.state();
        let (compiled, tree) = (state.compiled, state.tree);
        let indexed = Layered {
            base: state.snapshot,
            changes: &*missing_indexes(compiled, tree, state.snapshot)?,
        };
        let (errors, _) = validate_whole(compiled, tree, &indexed, WorkerShare::ALL)?;
        Ok(errors.into_result()?)
    }
}

impl Tree {
    /// Validates every constraint in the newest state, on all cores.
    ///
    /// # Errors
    /// [`crate::Error::Data`] with every violation.
    pub fn validate_whole(&self) -> Result<()> {
        self.validate_changed(Arc::default())
    }

    /// As [`Self::validate_whole`], for the newest state with changes of the data, whose indexes may belong
    /// to other modules.
    pub(in crate::tree) fn validate_whole_with(&self, changes: &Arc<Changes>) -> Result<()> {
        let mut changes = Arc::clone(changes);
        // Also without data changes: the indexes contain schema defaults, which may differ.
        for subspace in [Subspace::Index, Subspace::Count] {
            let range = KeyRange::prefix(&self.id().prefix(subspace));
            Arc::make_mut(&mut changes).delete_range(&range);
        }
        self.validate_changed(changes)
    }

    fn validate_changed(&self, changes: Arc<Changes>) -> Result<()> {
        let snapshots = self.snapshots_of_one_version()?;
        let workers = snapshots.len() as u64;
        let compiled = self.compiled();
        let tree = self.id();
        let changed = Layered {
            base: &*snapshots[0],
            changes: &changes,
        };
        let missing = missing_indexes(compiled, tree, &changed)?;
        let missing = match changes.is_empty() {
            true => missing,
            false => {
                let mut both = Arc::unwrap_or_clone(changes);
                both.apply(&missing);
                Arc::new(both)
            }
        };
        let results: Vec<Result<Errors>> = std::thread::scope(|scope| {
            let work = |(worker, snapshot): (usize, Box<dyn Snapshot + Send>)| {
                let (compiled, missing) = (Arc::clone(compiled), Arc::clone(&missing));
                let worker = worker as u64;
                scope.spawn(move || {
                    let share = WorkerShare { worker, workers };
                    let indexed = Overlay::with(snapshot, missing);
                    Ok(validate_whole(&compiled, tree, &indexed, share)?.0)
                })
            };
            let threads: Vec<_> = snapshots.into_iter().enumerate().map(work).collect();
            threads.into_iter().map(joined).collect()
        });
        let mut errors = Errors::new();
        for result in results {
            errors.append(result?);
        }
        Ok(errors.into_result()?)
    }

    /// A snapshot for each core, all of one version; a single one if commits come too quickly.
    fn snapshots_of_one_version(&self) -> Result<Vec<Box<dyn Snapshot + Send>>> {
        let workers = std::thread::available_parallelism().map_or(1, NonZero::get);
        let driver = self.store().driver();
        for _ in 0..SNAPSHOT_TRIES_MAX {
            let snapshots = (0..workers)
                .map(|_| driver.snapshot())
                .collect::<std::result::Result<Vec<_>, _>>()?;
            let versions: Vec<Version> = snapshots.iter().map(|one| one.version()).collect();
            if versions.iter().all(|version| *version == versions[0]) {
                return Ok(snapshots);
            }
        }
        Ok(vec![driver.snapshot()?])
    }
}

fn joined(thread: std::thread::ScopedJoinHandle<'_, Result<Errors>>) -> Result<Errors> {
    match thread.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
