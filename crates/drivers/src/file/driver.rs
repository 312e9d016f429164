//! The file driver.

use std::sync::Arc;

use espalier_keyspace::{
    Batch, Capability, Committed, Driver, DriverExtension, Finding, ImportDocument, KeyRange, Lens,
    Precondition, Result, Snapshot, Usage, Version, Watch, WatchKind, WriteBody,
};

use super::config::{Config, NAME};
use super::engine::{self, Engine};
use super::{commit, snapshot, watch};
use crate::files::open_error;
use crate::url::Url;

/// A key space in a directory with human-readable, editable documents.
pub struct Directory {
    engine: Arc<Engine>,
}

impl Directory {
    /// Opens the directory, and creates it if it does not exist.
    pub fn open(config: Config) -> Result<Self> {
        let dir = config.dir.clone();
        let opened = engine::open(config).map_err(|error| open_error(&dir, error));
        Ok(Self {
            engine: Arc::new(opened?),
        })
    }
}

pub(crate) fn open_url(url: &Url<'_>) -> Result<Arc<dyn Driver>> {
    Ok(Arc::new(Directory::open(Config::from_url(url)?)?))
}

impl Driver for Directory {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capability(&self) -> Capability {
        Capability {
            durable: true,
            shared: false,
            native_add: false,
            remote: false,
            watch: WatchKind::Push,
            operations_max: None,
        }
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + Send>> {
        Ok(snapshot::snapshot(&self.engine))
    }

    fn commit(&self, batch: Batch) -> Result<Committed> {
        commit::commit(&self.engine, batch)
    }

    fn write(&self, preconditions: &[Precondition], fill: WriteBody<'_>) -> Result<Version> {
        commit::write(&self.engine, preconditions, fill)
    }

    fn watch(&self, range: KeyRange, after: Version) -> Result<Box<dyn Watch>> {
        Ok(watch::watch(&self.engine, range, after))
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

impl DriverExtension for Directory {
    fn flush_all(&self) -> Result<()> {
        engine::flush_all(&self.engine)
    }

    fn set_lens(&self, lens: Arc<dyn Lens>, take: ImportDocument<'_>) -> Result<()> {
        engine::set_lens(&self.engine, lens, take)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if let Err(error) = self.engine.check_not_replaced() {
            // Commits after the removal have failed with an error already.
            tracing::debug!(%error, "the directory is not closed, as it was removed or replaced");
            return;
        }
        if let Err(error) = engine::flush_all(&self.engine) {
            let dir = self.engine.dir.display();
            tracing::warn!(%dir, %error, "the documents and the data file are outdated; all commits are in the journal");
        }
    }
}
