//! The memory driver.

use std::sync::Arc;

use espalier_keyspace::{
    Batch, Capability, Driver, Fill, Finding, KeyRange, Precondition, Result, Snapshot, Usage,
    Version, Watch, WatchKind,
};

use super::commit;
use super::config::Config;
use super::engine::Engine;
use super::snapshot::MemorySnapshot;
use super::watch::MemoryWatch;
use crate::url::Url;

/// The name of the driver, and the scheme of its URLs.
pub const NAME: &str = "memory";

/// A key space in the memory of this process, empty when made.
pub struct Memory {
    engine: Arc<Engine>,
}

impl Memory {
    /// An empty key space.
    pub fn new(_config: Config) -> Self {
        Self {
            engine: Arc::new(Engine::new()),
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
        NAME
    }

    fn capability(&self) -> Capability {
        Capability {
            durable: false,
            shared: false,
            native_add: false,
            watch: WatchKind::Push,
            operations_max: None,
        }
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + Send>> {
        Ok(Box::new(MemorySnapshot::new(self.engine.state.load_full())))
    }

    fn commit(&self, batch: Batch) -> Result<Version> {
        commit::commit(&self.engine, &batch)
    }

    fn write(&self, preconditions: &[Precondition], fill: Fill<'_>) -> Result<Version> {
        commit::write(&self.engine, preconditions, fill)
    }

    fn watch(&self, range: KeyRange, after: Version) -> Result<Box<dyn Watch>> {
        let engine = Arc::clone(&self.engine);
        Ok(Box::new(MemoryWatch::new(engine, range, after)))
    }

    fn usage(&self) -> Result<Usage> {
        let state = self.engine.state.load();
        let bytes = |(key, value): (&Arc<[u8]>, &Arc<[u8]>)| (key.len() + value.len()) as u64;
        Ok(Usage {
            keys: state.tree.len() as u64,
            bytes: state.tree.iter().map(bytes).sum(),
        })
    }

    fn check(&self) -> Result<Vec<Finding>> {
        Ok(Vec::new())
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }
}
