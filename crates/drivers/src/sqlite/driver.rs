//! The SQLite driver.

use std::sync::Arc;

use espalier_keyspace::{
    Batch, Capability, Committed, Driver, DriverExtension, Finding, ImportDocument, KeyRange, Lens,
    Precondition, Result, Snapshot, Usage, Version, Watch, WatchKind, WriteBody,
};

use super::commit;
use super::config::{Config, NAME};
use super::engine::{self, Engine};
use super::snapshot::SqliteSnapshot;
use super::watch::SqliteWatch;
use crate::files::open_error;
use crate::url::Url;

/// A key space in a file.
pub struct Sqlite {
    engine: Arc<Engine>,
}

impl Sqlite {
    /// Opens the file. Creates it and its parent directories if they do not exist.
    pub fn open(config: Config) -> Result<Self> {
        let opened = engine::open(&config).map_err(|error| open_error(&config.file, error));
        Ok(Self {
            engine: Arc::new(opened?),
        })
    }
}

pub(crate) fn open_url(url: &Url<'_>) -> Result<Arc<dyn Driver>> {
    Ok(Arc::new(Sqlite::open(Config::from_url(url)?)?))
}

impl Driver for Sqlite {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capability(&self) -> Capability {
        Capability {
            durable: true,
            shared: true,
            native_add: false,
            remote: false,
            watch: WatchKind::Poll,
            operations_max: None,
        }
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + Send>> {
        Ok(Box::new(SqliteSnapshot::new(&self.engine)?))
    }

    fn commit(&self, batch: Batch) -> Result<Committed> {
        commit::commit(&self.engine, batch)
    }

    fn write(&self, preconditions: &[Precondition], fill: WriteBody<'_>) -> Result<Version> {
        commit::write(&self.engine, preconditions, fill)
    }

    fn watch(&self, range: KeyRange, after: Version) -> Result<Box<dyn Watch>> {
        let engine = Arc::clone(&self.engine);
        Ok(Box::new(SqliteWatch::new(engine, range, after)))
    }

    fn usage(&self) -> Result<Usage> {
        engine::usage(&self.engine)
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

impl DriverExtension for Sqlite {
    fn set_lens(&self, lens: Arc<dyn Lens>, _take: ImportDocument<'_>) -> Result<()> {
        self.engine.set_lens(lens)
    }
}
