//! The engines that the table is made for.

use std::sync::Arc;

use espalier_keyspace::{Batch, Driver, KeyRange};
use espalier_stats::{Clock, Settings, Stats, SystemClock, SystemMetric};
use espalier_store::Subspace;

use super::comparison::engine_of;
use crate::configuration::{Configuration, StoreLocation};
use crate::row::Row;
use espalier_terminal::Result;

/// An engine with statistics of the bench.
pub struct Engine {
    /// The engine.
    pub driver: Arc<dyn Driver>,
    /// Their engine to compare with.
    pub peer: Option<&'static str>,
    /// Where it is.
    pub configuration: Configuration,
    prefix: Vec<u8>,
    _location: StoreLocation,
}

impl Engine {
    /// An engine at a place.
    pub fn open(configuration: &Configuration) -> Result<Self> {
        let mut location = configuration.location()?;
        let (_, driver) = location.open()?;
        Ok(Self {
            peer: engine_of(&*driver),
            driver,
            configuration: configuration.clone(),
            prefix: Subspace::Statistics.key(),
            _location: location,
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
        Row::new("trifle", name, self.configuration.labels(), size)
    }
}
