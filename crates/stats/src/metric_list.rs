//! Lists and deletes metrics.

use espalier_keyspace::{Batch, Direction, KeyRange, Snapshot};

use crate::limits::METRICS_MAX;
use crate::stats::Stats;
use crate::{Error, Metric, Result};

impl Stats {
    /// The metrics whose names begin with `prefix`, sorted by name.
    pub fn keys(&self, prefix: &str) -> Result<Vec<Metric>> {
        let snapshot = self.driver.snapshot()?;
        let mut metrics = metrics_in(&*snapshot, &self.layout.metrics(prefix))?;
        metrics.retain(|metric| metric.name.starts_with(prefix));
        metrics.sort();
        Ok(metrics)
    }

    /// Deletes a metric: its values, sketches and status. Returns whether it existed.
    pub fn delete(&self, metric: impl Into<Metric>) -> Result<bool> {
        let metric = metric.into();
        metric.check()?;
        let key = self.layout.metric(&metric);
        self.driver.catch_up()?;
        let existed = self.driver.snapshot()?.get(&key)?.is_some();
        let mut batch = Batch::new();
        for range in self.layout.everything_of(&metric) {
            batch.delete_range(range);
        }
        self.driver.commit(batch)?;
        Ok(existed)
    }
}

/// The metrics whose rows are in a range.
pub(crate) fn metrics_in(snapshot: &dyn Snapshot, range: &KeyRange) -> Result<Vec<Metric>> {
    let mut metrics = Vec::new();
    let mut cursor = snapshot.scan(range, Direction::Forward)?;
    while let Some((_, row)) = cursor.next()? {
        if metrics.len() == METRICS_MAX {
            return Err(Error::limit(format!(
                "there are more than {METRICS_MAX} such metrics"
            )));
        }
        metrics.push(Metric::decode(row)?);
    }
    Ok(metrics)
}
