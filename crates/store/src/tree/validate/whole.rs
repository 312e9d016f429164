//! Validating a whole datastore: on request, after a load, and when its model changed.

use std::num::NonZero;
use std::sync::Arc;

use espalier_keyspace::{Snapshot, Version};
use espalier_yang::validate::{Share, validate};
use espalier_yang::xpath::evaluate::Limits;
use espalier_yang::{Errors, Instances};

use super::index::is_kept;
use super::instances::{Indexes, StoreInstances};
use crate::error::Result;
use crate::keys::TreeId;
use crate::store::Compiled;
use crate::tree::locate::State;
use crate::tree::{Tree, View};

/// How often snapshots of one version are asked for; then one worker does it all.
const SNAPSHOT_TRIES_MAX: usize = 8;

/// Validates every constraint in one state of a datastore.
pub(in crate::tree) fn validate_whole(
    compiled: &Compiled,
    tree: TreeId,
    snapshot: &dyn Snapshot,
    share: Share,
) -> Result<Errors> {
    let state = State {
        snapshot,
        compiled,
        tree,
    };
    let indexes = match is_kept(compiled, tree, snapshot)? {
        true => Indexes::Kept,
        false => Indexes::Missing,
    };
    let data = StoreInstances::new(state, indexes);
    let root = data.root();
    validate(&compiled.plan, &data, &root, Limits::default(), share)
}

impl View {
    /// Validates every constraint (RFC 7950 §8.1) in this state, whatever was validated before.
    ///
    /// # Errors
    /// [`crate::Error::Data`] with every violation.
    pub fn validate(&self) -> Result<()> {
        let state = self.state();
        let errors = validate_whole(state.compiled, state.tree, state.snapshot, Share::ALL)?;
        Ok(errors.into_result()?)
    }
}

impl Tree {
    /// Validates every constraint in the newest state, on all cores.
    ///
    /// # Errors
    /// [`crate::Error::Data`] with every violation.
    pub fn validate_whole(&self) -> Result<()> {
        let snapshots = self.snapshots_of_one_version()?;
        let workers = snapshots.len() as u64;
        let compiled = self.compiled();
        let tree = self.id();
        let results: Vec<Result<Errors>> = std::thread::scope(|scope| {
            let work = |(worker, snapshot): (usize, Box<dyn Snapshot + Send>)| {
                let compiled = Arc::clone(compiled);
                let worker = worker as u64;
                scope.spawn(move || {
                    let share = Share { worker, workers };
                    validate_whole(&compiled, tree, &*snapshot, share)
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

    /// A snapshot for each core, all of one version; one where commits come too quickly.
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
