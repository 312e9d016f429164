//! The engines of the table.

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
    /// The engine of Trifle::Stats to compare with.
    pub peer: Option<&'static str>,
    /// The configuration of the engine.
    pub configuration: Configuration,
    prefix: Vec<u8>,
    _location: StoreLocation,
}

impl Engine {
    /// Opens an engine.
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

    /// Creates empty statistics with the seven default granularities. Active metrics are not listed, as in the
    /// version of Trifle::Stats that the table measures.
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

    /// Removes the statistics that the bench wrote.
    pub fn clear(&self) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete_range(KeyRange::prefix(&self.prefix));
        self.driver.commit(batch)?;
        Ok(())
    }

    /// A row of this engine, without measurements.
    pub fn row(&self, name: String, size: u64) -> Row {
        Row::new("trifle", name, self.configuration.labels(), size)
    }
}
