//! The MongoDB driver: staged commits over a chain of revisions.

use std::sync::Arc;
use std::time::Duration;

use espalier_keyspace::{
    Batch, Capability, Committed, Driver, Expect, Fill, Finding, KeyRange, Lens, Precondition,
    Result, Snapshot, Take, Usage, Version, Watch, WatchKind,
};

use super::config::Config;
use super::engine::{self, Engine, REQUEST_BYTES};
use super::watch::MongoFollow;
use super::{commit, snapshot};
use crate::site::Site;
use crate::staged::Staged;
use crate::staged::engine::{Bounds, Cells, Failure, Follow, Found, Guard, Read, Write};
use crate::url::Url;

/// The name of the driver, and the scheme of its URLs.
pub const NAME: &str = "mongodb";

/// A key space in MongoDB.
pub struct Mongo {
    engine: Arc<Engine>,
    staged: Staged<MongoCells>,
}

impl Mongo {
    /// Connects and makes the key space where there is none.
    pub fn open(config: Config) -> Result<Self> {
        let engine = Arc::new(Engine::open(&config)?);
        commit::settle(&engine)?;
        let cells = MongoCells {
            engine: Arc::clone(&engine),
        };
        let staged = Staged::open(cells, b"")?;
        Ok(Self { engine, staged })
    }
}

/// What MongoDB is made to have for staged commits.
struct MongoCells {
    engine: Arc<Engine>,
}

impl Cells for MongoCells {
    fn name(&self) -> &'static str {
        NAME
    }

    fn bounds(&self) -> Bounds {
        Bounds {
            operations: self.engine.operations,
            bytes: REQUEST_BYTES,
        }
    }

    fn read(&self, reads: &[Read], at: Option<u64>) -> Result<Found> {
        snapshot::read(&self.engine, reads, at)
    }

    fn transact(
        &self,
        guards: &[Guard],
        writes: &[Write],
    ) -> std::result::Result<Option<u64>, Failure> {
        commit::transact(&self.engine, guards, writes)
    }

    fn finds_out(&self) -> bool {
        true
    }

    fn follow(&self, _head: &[u8], after: u64) -> Result<Box<dyn Follow>> {
        let engine = Arc::clone(&self.engine);
        Ok(Box::new(MongoFollow::new(engine, after)))
    }

    fn watch_kind(&self) -> WatchKind {
        WatchKind::Poll
    }

    fn patience(&self) -> Duration {
        self.engine.server.timeout
    }
}

pub(crate) fn open_url(url: &Url<'_>) -> Result<Arc<dyn Driver>> {
    Ok(Arc::new(Mongo::open(Config::from_url(url)?)?))
}

pub(crate) fn look_url(url: &Url<'_>) -> Result<Site> {
    let config = Config::from_url(url)?;
    Ok(Site {
        url: config.site(),
        exists: engine::exists(&config)?,
    })
}

impl Driver for Mongo {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capability(&self) -> Capability {
        self.staged.capability()
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + Send>> {
        self.staged.snapshot()
    }

    fn snapshot_expecting(&self, expect: Expect<'_>) -> Result<Box<dyn Snapshot + Send>> {
        self.staged.snapshot_expecting(expect)
    }

    fn commit_step(&self, batch: Batch) -> Result<Committed> {
        let committed = self.staged.commit_step(batch)?;
        self.engine.show(&self.staged);
        Ok(committed)
    }

    fn write(&self, preconditions: &[Precondition], fill: Fill<'_>) -> Result<Version> {
        let version = self.staged.write(preconditions, fill)?;
        self.engine.show(&self.staged);
        Ok(version)
    }

    fn watch(&self, range: KeyRange, after: Version) -> Result<Box<dyn Watch>> {
        self.staged.watch(range, after)
    }

    fn usage(&self) -> Result<Usage> {
        self.staged.usage()
    }

    fn check(&self) -> Result<Vec<Finding>> {
        self.staged.check()
    }

    fn flush(&self) -> Result<()> {
        self.engine.server.flush()
    }

    fn use_lens(&self, lens: Arc<dyn Lens>, _take: Take<'_>) -> Result<()> {
        self.engine.show_through(lens, &self.staged)
    }
}
