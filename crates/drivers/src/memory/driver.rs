//! The memory driver.

use std::sync::Arc;

use espalier_keyspace::{
    Batch, CacheStatus, Capability, Committed, Driver, DriverExtension, Finding, KeyRange, Policy,
    Precondition, Result, Snapshot, Usage, Version, Watch, WatchKind, WriteBody,
};

use super::commit;
use super::config::{Config, NAME};
use super::engine::{Engine, VersionedMap};
use super::snapshot::MemorySnapshot;
use super::watch::MemoryWatch;
use crate::url::Url;

/// A key space in the memory of this process, initially empty.
pub struct Memory {
    engine: Arc<Engine>,
    name: &'static str,
    policy: Policy,
}

impl Memory {
    /// An empty key space.
    pub fn new(_config: Config) -> Self {
        Self {
            engine: Arc::new(Engine::new(VersionedMap::default())),
            name: NAME,
            policy: Policy::Uncached,
        }
    }

    /// A key space with the state of the engine `name`, from now on in memory only.
    pub(crate) fn loaded_from(name: &'static str, state: VersionedMap) -> Self {
        Self {
            engine: Arc::new(Engine::new(state)),
            name,
            policy: Policy::Ram,
        }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new(Config::default())
    }
}

pub(crate) fn open_url(url: &Url<'_>) -> Result<Arc<dyn Driver>> {
    Ok(Arc::new(Memory::new(Config::from_url(url)?)))
}

impl Driver for Memory {
    fn name(&self) -> &'static str {
        self.name
    }

    fn capability(&self) -> Capability {
        Capability {
            durable: false,
            shared: false,
            native_add: false,
            remote: false,
            watch: WatchKind::Push,
            operations_max: None,
        }
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + Send>> {
        Ok(Box::new(MemorySnapshot::new(self.engine.newest.get())))
    }

    fn commit(&self, batch: Batch) -> Result<Committed> {
        let version = commit::commit(&self.engine, &batch)?;
        Ok(Committed::alone(version, batch))
    }

    fn write(&self, preconditions: &[Precondition], fill: WriteBody<'_>) -> Result<Version> {
        commit::write(&self.engine, preconditions, fill)
    }

    fn watch(&self, range: KeyRange, after: Version) -> Result<Box<dyn Watch>> {
        let engine = Arc::clone(&self.engine);
        Ok(Box::new(MemoryWatch::new(engine, range, after)))
    }

    fn usage(&self) -> Result<Usage> {
        let map = self.engine.newest.get().map;
        Ok(Usage {
            keys: map.len() as u64,
            bytes: map.bytes() as u64,
        })
    }

    fn check(&self) -> Result<Vec<Finding>> {
        Ok(Vec::new())
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn extension(&self) -> Option<&dyn DriverExtension> {
        (self.policy == Policy::Ram).then_some(self)
    }
}

impl DriverExtension for Memory {
    fn cache_status(&self) -> CacheStatus {
        let map = self.engine.newest.get().map;
        CacheStatus {
            policy: self.policy,
            keys: map.len() as u64,
            bytes: map.bytes() as u64,
            ..CacheStatus::default()
        }
    }
}
