//! The engines that the table is made for.

use std::path::Path;
use std::sync::Arc;

use espalier_keyspace::{Batch, Driver, KeyRange};
use espalier_stats::{Clock, Settings, Stats, SystemClock, SystemMetric};
use espalier_store::Subspace;
use tempfile::TempDir;

use super::known::Peer;
use crate::bench::row::{On, Row};
use crate::bench::stand::{Durability, new_folder};
use crate::error::Result;

/// An engine with statistics of the bench's own, which are removed at the end.
pub struct Engine {
    /// The engine.
    pub driver: Arc<dyn Driver>,
    /// When commits are on disk, as in rows.
    pub durability: &'static str,
    /// Their engine to compare with.
    pub peer: Option<Peer>,
    prefix: Vec<u8>,
    _folder: Option<TempDir>,
}

impl Engine {
    /// The engines that are there without a server: in memory, embedded and SQLite, the latter two
    /// relaxed and durable, in new folders below the one given.
    pub fn local(below: &Path) -> Result<Vec<Self>> {
        let mut engines = vec![Self::open("memory:", Durability::None.as_str(), None)?];
        for (scheme, file) in [("embedded", ""), ("sqlite", "/store")] {
            for durability in [Durability::Relaxed, Durability::Durable] {
                let folder = new_folder(below)?;
                let (place, durability) = (folder.path().display(), durability.as_str());
                let url = format!("{scheme}:{place}{file}?durability={durability}");
                engines.push(Self::open(&url, durability, Some(folder))?);
            }
        }
        Ok(engines)
    }

    /// The engine that a URL names.
    pub fn of(url: &str) -> Result<Self> {
        let durability = match url {
            url if url.starts_with("memory:") => "none",
            url if url.contains("durability=relaxed") => "relaxed",
            _ => "durable",
        };
        Self::open(url, durability, None)
    }

    fn open(url: &str, durability: &'static str, folder: Option<TempDir>) -> Result<Self> {
        let driver = espalier_drivers::open(url)?;
        let mut prefix = Subspace::Statistics.key();
        // No statistics of a store begin with this byte.
        prefix.push(0xff);
        prefix.extend_from_slice(format!("bench {}", std::process::id()).as_bytes());
        Ok(Self {
            peer: Peer::of(&*driver),
            driver,
            durability,
            prefix,
            _folder: folder,
        })
    }

    /// New statistics, with the seven usual granularities. What is written is not listed, as theirs is
    /// not in the version of the table.
    pub fn stats(&self) -> Result<Stats> {
        self.clear()?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let stats = Stats::open(Arc::clone(&self.driver), &self.prefix, clock)?;
        stats.configure(Settings {
            system: SystemMetric::Off,
            ..Settings::default()
        })?;
        Ok(stats)
    }

    /// Removes what the bench wrote.
    pub fn clear(&self) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete_range(KeyRange::prefix(&self.prefix));
        self.driver.commit(batch)?;
        Ok(())
    }

    /// A row about this engine, with nothing measured yet.
    pub fn row(&self, name: String, size: u64) -> Row {
        let on = On {
            driver: self.driver.name().to_owned(),
            policy: match self.driver.capability().durable {
                true => "uncached",
                false => "ram",
            },
            durability: self.durability,
        };
        Row::new("trifle", name, on, size)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // What is left lies in a range of its own, and is in nobody's way.
        drop(self.clear());
    }
}
