//! The embedded driver.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use espalier_keyspace::{
    Batch, Capability, Committed, Driver, DriverExtension, Finding, KeyRange, Precondition, Result,
    Snapshot, Usage, Version, Watch, WatchKind, WriteBody,
};

use super::commit;
use super::config::{Config, NAME};
use super::engine::{self, Engine};
use super::snapshot::{self, EmbeddedSnapshot};
use super::watch::EmbeddedWatch;
use crate::files::open_error;
use crate::url::Url;

/// A key space in a directory.
pub struct Embedded {
    engine: Arc<Engine>,
}

impl Embedded {
    /// Opens the directory, and creates it if it does not exist. If this process has it open already, it is
    /// shared; with different options, opening fails as locked.
    pub fn open(config: Config) -> Result<Self> {
        let dir = config.dir.clone();
        let opened = engine::open(config).map_err(|error| open_error(&dir, error));
        opened.map(|engine| Self { engine })
    }
}

pub(crate) fn open_url(url: &Url<'_>) -> Result<Arc<dyn Driver>> {
    Ok(Arc::new(Embedded::open(Config::from_url(url)?)?))
}

impl Driver for Embedded {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capability(&self) -> Capability {
        Capability {
            durable: true,
            shared: true,
            remote: false,
            watch: WatchKind::Poll,
            operations_max: None,
        }
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + Send>> {
        Ok(Box::new(EmbeddedSnapshot::new(&self.engine)?))
    }

    fn commit(&self, batch: Batch) -> Result<Committed> {
        commit::commit(&self.engine, batch)
    }

    fn write(&self, preconditions: &[Precondition], fill: WriteBody<'_>) -> Result<Version> {
        commit::write(&self.engine, preconditions, fill)
    }

    fn watch(&self, range: KeyRange, after: Version) -> Result<Box<dyn Watch>> {
        let engine = Arc::clone(&self.engine);
        Ok(Box::new(EmbeddedWatch::new(engine, range, after)))
    }

    fn usage(&self) -> Result<Usage> {
        engine::usage(&self.engine, snapshot::count)
    }

    fn check(&self) -> Result<Vec<Finding>> {
        engine::check(&self.engine)
    }

    fn flush(&self) -> Result<()> {
        self.engine.sync()
    }

    fn extension(&self) -> Option<&dyn DriverExtension> {
        Some(self)
    }
}

impl DriverExtension for Embedded {
    fn tombstones_passed(&self) -> u64 {
        self.engine.tombstones_passed.load(Ordering::Relaxed)
    }

    fn flush_all(&self) -> Result<()> {
        self.engine.sync()?;
        self.engine.journal.merge_all()
    }
}
