//! The Redis driver.

use std::sync::Arc;

use espalier_keyspace::{
    Batch, Capability, Committed, Driver, DriverExtension, Finding, KeyRange, Precondition,
    Prefetch, Purpose, Result, Snapshot, Usage, Version, Watch, WatchKind, WriteBody,
};

use super::commit;
use super::config::{Config, NAME};
use super::engine::{self, Engine};
use super::snapshot::RedisSnapshot;
use super::watch::RedisWatch;
use crate::effective_durability::EffectiveDurability;
use crate::resolved_url::ResolvedUrl;
use crate::url::Url;

/// A key space in a Redis server.
pub struct Redis {
    engine: Arc<Engine>,
}

impl Redis {
    /// Connects, checks the server's version and settings, and creates the key space if there is none.
    pub fn open(config: Config) -> Result<Self> {
        let engine = Arc::new(engine::open(config)?);
        Ok(Self { engine })
    }
}

pub(crate) fn open_url(url: &Url<'_>) -> Result<Arc<dyn Driver>> {
    Ok(Arc::new(Redis::open(Config::from_url(url)?)?))
}

pub(crate) fn resolve_url(url: &Url<'_>) -> Result<ResolvedUrl> {
    let config = Config::from_url(url)?;
    Ok(ResolvedUrl {
        url: config.resolved_url(url.scheme),
        exists: engine::exists(&config)?,
    })
}

pub(crate) fn effective_durability_url(url: &Url<'_>) -> Result<EffectiveDurability> {
    engine::durability(&Config::from_url(url)?)
}

impl Driver for Redis {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capability(&self) -> Capability {
        Capability {
            durable: true,
            shared: true,
            native_add: true,
            remote: true,
            watch: WatchKind::Push,
            operations_max: None,
        }
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + Send>> {
        Ok(Box::new(RedisSnapshot::new(&self.engine)?))
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
        Ok(Box::new(RedisWatch::new(engine, range, after)))
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

impl DriverExtension for Redis {
    fn snapshot_for(
        &self,
        _purpose: Purpose,
        expect: Prefetch<'_>,
    ) -> Result<Box<dyn Snapshot + Send>> {
        Ok(Box::new(RedisSnapshot::expecting(&self.engine, expect)?))
    }
}
