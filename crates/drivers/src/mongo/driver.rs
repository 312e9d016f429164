//! The MongoDB driver.

use std::sync::Arc;

use espalier_keyspace::{
    Batch, Capability, Committed, Driver, DriverExtension, Finding, ImportDocument, KeyRange, Lens,
    Precondition, Prefetch, Purpose, Result, Snapshot, Step, Usage, Version, Watch, WatchKind,
    WriteBody,
};

use super::commit;
use super::config::{Config, NAME};
use super::engine::{self, Engine};
use super::snapshot::MongoSnapshot;
use super::watch::MongoWatch;
use crate::buffered;
use crate::resolved_url::ResolvedUrl;
use crate::url::Url;

/// A key space in MongoDB.
pub struct Mongo {
    engine: Arc<Engine>,
}

impl Mongo {
    /// Connects, and creates the key space if it does not exist.
    pub fn open(config: Config) -> Result<Self> {
        let engine = Arc::new(Engine::open(&config)?);
        Ok(Self { engine })
    }
}

pub(crate) fn open_url(url: &Url<'_>) -> Result<Arc<dyn Driver>> {
    Ok(Arc::new(Mongo::open(Config::from_url(url)?)?))
}

pub(crate) fn resolve_url(url: &Url<'_>) -> Result<ResolvedUrl> {
    let config = Config::from_url(url)?;
    Ok(ResolvedUrl {
        url: config.resolved_url(),
        exists: engine::exists(&config)?,
    })
}

impl Driver for Mongo {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capability(&self) -> Capability {
        Capability {
            durable: true,
            shared: true,
            native_add: false,
            remote: true,
            watch: WatchKind::Poll,
            operations_max: None,
        }
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + Send>> {
        Ok(Box::new(MongoSnapshot::newest(&self.engine)?))
    }

    fn commit(&self, batch: Batch) -> Result<Committed> {
        batch.check_limits()?;
        let _commit = self.engine.streamed_write.read();
        let (version, from) = commit::commit(&self.engine, &batch, None)?;
        self.engine.show_commit(version);
        let step = from.map(|from| Step { from, batch });
        Ok(Committed { version, step })
    }

    fn write(&self, preconditions: &[Precondition], fill: WriteBody<'_>) -> Result<Version> {
        let _write = self.engine.streamed_write.write();
        let engine = buffered::Engine {
            snapshot: &|| self.snapshot(),
            commit: &|batch, unchanged_since| {
                Ok(commit::commit(&self.engine, batch, unchanged_since)?.0)
            },
        };
        let version = buffered::write(&engine, preconditions, fill)?;
        self.engine.show_commit(version);
        Ok(version)
    }

    fn watch(&self, range: KeyRange, after: Version) -> Result<Box<dyn Watch>> {
        Ok(Box::new(MongoWatch::new(&self.engine, range, after)))
    }

    fn usage(&self) -> Result<Usage> {
        MongoSnapshot::newest(&self.engine)?.usage()
    }

    fn check(&self) -> Result<Vec<Finding>> {
        MongoSnapshot::newest(&self.engine)?.check()
    }

    fn flush(&self) -> Result<()> {
        self.engine.server.flush()
    }

    fn extension(&self) -> Option<&dyn DriverExtension> {
        Some(self)
    }
}

impl DriverExtension for Mongo {
    fn snapshot_for(
        &self,
        purpose: Purpose,
        expect: Prefetch<'_>,
    ) -> Result<Box<dyn Snapshot + Send>> {
        let snapshot = match purpose {
            Purpose::Read => MongoSnapshot::newest(&self.engine)?,
            Purpose::Update => MongoSnapshot::presumed(&self.engine)?,
        };
        snapshot.expecting(expect)
    }

    fn is_current(&self, version: Version) -> Result<bool> {
        // Only a presumed snapshot was taken without reading the newest version.
        Ok(!self.engine.chain.may_be_presumed(version.0)
            || self.engine.newest()?.0.version <= version.0)
    }

    fn set_lens(&self, lens: Arc<dyn Lens>, _take: ImportDocument<'_>) -> Result<()> {
        self.engine.set_lens(lens)
    }
}
