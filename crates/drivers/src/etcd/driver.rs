//! The etcd driver: staged commits over etcd's transactions.

use std::sync::Arc;
use std::time::Duration;

use espalier_keyspace::{
    Direction, Driver, DriverExtension, Error, ErrorKind, KeyRange, Result, forward_driver,
};

use super::config::{Config, NAME, REQUEST_BYTES};
use super::engine::Engine;
use super::watch::EtcdFollow;
use super::{commit, snapshot};
use crate::resolved_url::ResolvedUrl;
use crate::staged::StagedDriver;
use crate::staged::engine::{
    Bounds, CellStore, Failure, Follow, Guard, Layout, Read, ReadResult, Write,
};
use crate::url::Url;

/// A key space in etcd.
pub struct Etcd {
    staged: StagedDriver<EtcdCells>,
}

impl Etcd {
    /// Connects, and creates the key space if it does not exist.
    pub fn open(config: Config) -> Result<Self> {
        let prefix = key_prefix(&config);
        let engine = Arc::new(Engine::open(&config)?);
        let cells = EtcdCells { engine };
        reject_overlap(&cells, &prefix)?;
        let staged = StagedDriver::open(cells, prefix.as_bytes())?;
        Ok(Self { staged })
    }
}

/// Rejects a new key space whose prefix is within, or contains, the prefix of an existing one: each would
/// treat the keys of the other as its own.
fn reject_overlap(cells: &EtcdCells, prefix: &str) -> Result<()> {
    let format = |prefix: &str| Layout::new(prefix.as_bytes()).format();
    let parents = prefix.match_indices('/').map(|(at, _)| &prefix[..=at]);
    let mut reads: Vec<_> = parents.map(|prefix| Read::One(format(prefix))).collect();
    reads.push(Read::Some {
        range: KeyRange::prefix(prefix.as_bytes()),
        direction: Direction::Forward,
        limit: 1,
    });
    let mut found = cells.read(&reads, None)?.cells;
    let within = found.pop().and_then(|mut cells| cells.pop());
    let own = found.pop().is_some_and(|cells| !cells.is_empty());
    if own {
        return Ok(());
    }
    let rejected = |reason: String| {
        let message = format!("the prefix {prefix} cannot hold a key space: {reason}");
        Err(Error::new(ErrorKind::WrongVersion, message))
    };
    if found.iter().any(|cells| !cells.is_empty()) {
        return rejected("it is within another key space; use a prefix outside of it".to_owned());
    }
    match within {
        Some(cell) => rejected(format!(
            "other keys already begin with it, such as {}; use another prefix",
            cell.key.escape_ascii()
        )),
        None => Ok(()),
    }
}

/// The etcd operations that staged commits need.
struct EtcdCells {
    engine: Arc<Engine>,
}

impl CellStore for EtcdCells {
    fn name(&self) -> &'static str {
        NAME
    }

    fn bounds(&self) -> Bounds {
        Bounds {
            operations: self.engine.operations,
            bytes: REQUEST_BYTES,
        }
    }

    fn read(&self, reads: &[Read], at: Option<u64>) -> Result<ReadResult> {
        snapshot::read(&self.engine, reads, at)
    }

    fn read_possibly_stale(&self, reads: &[Read]) -> Result<Option<ReadResult>> {
        snapshot::read_possibly_stale(&self.engine, reads).map(Some)
    }

    fn transact(
        &self,
        guards: &[Guard],
        writes: &[Write],
    ) -> std::result::Result<Option<u64>, Failure> {
        commit::transact(&self.engine, guards, writes)
    }

    fn follow(&self, cell: &[u8], after: u64) -> Result<Box<dyn Follow>> {
        let engine = Arc::clone(&self.engine);
        Ok(Box::new(EtcdFollow::new(engine, cell, after)))
    }

    fn retry_timeout(&self) -> Duration {
        self.engine.timeout
    }
}

pub(crate) fn open_url(url: &Url<'_>) -> Result<Arc<dyn Driver>> {
    Ok(Arc::new(Etcd::open(Config::from_url(url)?)?))
}

pub(crate) fn resolve_url(url: &Url<'_>) -> Result<ResolvedUrl> {
    let config = Config::from_url(url)?;
    let engine = Arc::new(Engine::open(&config)?);
    let format = Layout::new(key_prefix(&config).as_bytes()).format();
    let found = EtcdCells { engine }.read(&[Read::One(format)], None)?;
    Ok(ResolvedUrl {
        url: format!("{NAME}://{}/{}", config.servers.shown(), config.prefix),
        exists: found.cells.iter().any(|cells| !cells.is_empty()),
    })
}

/// The prefix of all keys of a key space.
fn key_prefix(config: &Config) -> String {
    format!("{}/", config.prefix)
}

impl Driver for Etcd {
    forward_driver!(
        name, capability, snapshot, commit, write, watch, usage, check, flush => self.staged
    );

    fn extension(&self) -> Option<&dyn DriverExtension> {
        self.staged.extension()
    }
}
