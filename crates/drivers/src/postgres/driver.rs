//! The PostgreSQL driver.

use std::sync::Arc;

use espalier_keyspace::{
    Batch, Capability, Committed, Driver, DriverExtension, Finding, ImportDocument, KeyRange, Lens,
    Precondition, Prefetch, Purpose, Result, Snapshot, Usage, Version, Watch, WatchKind, WriteBody,
};

use super::commit;
use super::config::{Config, NAME};
use super::engine::{self, Engine};
use super::snapshot::PostgresSnapshot;
use super::watch::PostgresWatch;
use crate::effective_durability::EffectiveDurability;
use crate::resolved_url::ResolvedUrl;
use crate::url::Url;

/// A key space in the tables of a schema.
pub struct Postgres {
    engine: Arc<Engine>,
}

impl Postgres {
    /// Connects, and creates the schema and its tables if they do not exist.
    pub fn open(config: Config) -> Result<Self> {
        let engine = Arc::new(engine::open(config)?);
        Ok(Self { engine })
    }
}

pub(crate) fn open_url(url: &Url<'_>) -> Result<Arc<dyn Driver>> {
    Ok(Arc::new(Postgres::open(Config::from_url(url)?)?))
}

pub(crate) fn resolve_url(url: &Url<'_>) -> Result<ResolvedUrl> {
    let config = Config::from_url(url)?;
    Ok(ResolvedUrl {
        url: config.resolved_url(),
        exists: engine::exists(config)?,
    })
}

pub(crate) fn effective_durability_url(url: &Url<'_>) -> Result<EffectiveDurability> {
    engine::durability(Config::from_url(url)?)
}

impl Driver for Postgres {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capability(&self) -> Capability {
        Capability {
            durable: true,
            shared: true,
            native_add: false,
            remote: true,
            watch: WatchKind::Push,
            operations_max: None,
        }
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + Send>> {
        Ok(Box::new(PostgresSnapshot::new(&self.engine, &|_| {})?))
    }

    fn commit(&self, batch: Batch) -> Result<Committed> {
        commit::commit(&self.engine, batch)
    }

    fn write(&self, preconditions: &[Precondition], fill: WriteBody<'_>) -> Result<Version> {
        commit::write(&self.engine, preconditions, fill)
    }

    fn watch(&self, range: KeyRange, after: Version) -> Result<Box<dyn Watch>> {
        Ok(Box::new(PostgresWatch::new(&self.engine, range, after)))
    }

    fn usage(&self) -> Result<Usage> {
        engine::usage(&self.engine)
    }

    fn check(&self) -> Result<Vec<Finding>> {
        engine::check(&self.engine)
    }

    fn flush(&self) -> Result<()> {
        engine::flush(&self.engine)
    }

    fn extension(&self) -> Option<&dyn DriverExtension> {
        Some(self)
    }
}

impl DriverExtension for Postgres {
    fn snapshot_for(
        &self,
        _purpose: Purpose,
        expect: Prefetch<'_>,
    ) -> Result<Box<dyn Snapshot + Send>> {
        Ok(Box::new(PostgresSnapshot::new(&self.engine, expect)?))
    }

    fn set_lens(&self, lens: Arc<dyn Lens>, _take: ImportDocument<'_>) -> Result<()> {
        self.engine.set_lens(lens)
    }
}
