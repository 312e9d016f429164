//! `policy=cached`: the complete key space in memory. A snapshot is a clone of a map.

use std::sync::Arc;

use espalier_keyspace::{
    CacheStatus, Change, Driver, Policy, Prefetch, Result, Snapshot, Step, Version,
};

use super::follower::{Follower, FreshnessCheck};
use super::memory_map::{FullValues, View};
use super::options::{Options, ReadConsistency};
use super::policy_driver::{PolicyCache, PolicyDriver, StepResult};
use crate::memory::MemorySnapshot;

struct Cached {
    view: View<FullValues>,
    reads: ReadConsistency,
}

pub(super) fn open(engine: Arc<dyn Driver>, options: &Options) -> Result<Arc<dyn Driver>> {
    let cache = Cached {
        view: View::load(&*engine, FullValues, 0)?,
        reads: options.reads,
    };
    let freshness_check = FreshnessCheck::Every(options.staleness);
    let follower = Follower::new(engine, cache, freshness_check);
    Ok(Arc::new(PolicyDriver::start(follower)?))
}

impl PolicyCache for Cached {
    const IS_COMPLETE: bool = true;

    fn version(&self) -> Version {
        self.view.version()
    }

    fn apply(&self, version: Version, changes: &[Change]) {
        self.view.apply(version, changes);
    }

    fn reload(&self, engine: &dyn Driver, least: Version) -> Result<()> {
        self.view.reload(engine, least)
    }

    fn apply_step(&self, version: Version, step: &Step) -> StepResult {
        self.view.apply_step(version, step)
    }

    fn snapshot(
        follower: &Arc<Follower<Self>>,
        _expect: Prefetch<'_>,
    ) -> Result<Box<dyn Snapshot + Send>> {
        match follower.cache().reads {
            ReadConsistency::Local => follower.catch_up()?,
            ReadConsistency::Linearizable => follower.catch_up_with_engine()?,
        }
        let newest = follower.cache().view.newest();
        Ok(Box::new(MemorySnapshot::new(newest)))
    }

    fn is_current(follower: &Follower<Self>, seen: Version) -> Result<bool> {
        match follower.cache().reads {
            ReadConsistency::Local => Ok(follower.require_newest()? <= seen),
            ReadConsistency::Linearizable => Ok(true),
        }
    }

    fn cache_status(follower: &Follower<Self>) -> CacheStatus {
        let map = follower.cache().view.newest().map;
        CacheStatus {
            policy: Policy::Cached,
            keys: map.len() as u64,
            bytes: map.bytes() as u64,
            ..follower.cache_status()
        }
    }
}
