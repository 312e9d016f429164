//! Statuses: the last reported status of each metric.

use std::borrow::Cow;

use espalier_keyspace::{Batch, Direction, PrefetchList, Snapshot, Transact};
use serde_json::value::RawValue;

use crate::limits::STATUS_BYTES_MAX;
use crate::number::{put_text, take_text};
use crate::stats::Stats;
use crate::{Error, Metric, Result, Timestamp};

/// A status: any JSON, with its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The metric.
    pub metric: Metric,
    /// The time of the status, to the nanosecond.
    pub at: Timestamp,
    /// The status, as JSON text.
    pub json: String,
}

/// Whether a status was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beamed {
    /// It is the latest one now.
    Latest,
    /// A later status exists, and is kept.
    Outdated,
}

impl Stats {
    /// Stores the status of a metric, as JSON. Of two with the same time the last one stored wins; one that
    /// is older than the stored one is ignored.
    pub fn beam(&self, metric: impl Into<Metric>, at: Timestamp, json: &str) -> Result<Beamed> {
        let metric = metric.into();
        metric.check()?;
        let json: &RawValue =
            serde_json::from_str(json).map_err(|error| Error::syntax(error.to_string()))?;
        if json.get().len() > STATUS_BYTES_MAX {
            let message = format!("the status exceeds the limit of {STATUS_BYTES_MAX} bytes");
            return Err(Error::limit(message));
        }
        let status = Status {
            metric,
            at,
            json: json.get().to_owned(),
        };
        let key = self.layout.status(&status.metric);
        let snapshot_of_key = || self.snapshot_of(&key);
        Transact::new(&*self.driver).run(&snapshot_of_key, &mut |snapshot| {
            let mut batch = Batch::new();
            let stored = snapshot.get(&key)?.map(Cow::into_owned);
            if let Some(stored) = &stored
                && Status::decode(stored)?.at > at
            {
                return Ok((batch, Beamed::Outdated));
            }
            batch.require(key.clone(), stored);
            batch.put(key.clone(), status.encode());
            batch.put(self.layout.metric(&status.metric), status.metric.encode());
            Ok((batch, Beamed::Latest))
        })
    }

    /// The latest status of a metric.
    pub fn scan(&self, metric: impl Into<Metric>) -> Result<Option<Status>> {
        let metric = metric.into();
        metric.check()?;
        let key = self.layout.status(&metric);
        let snapshot = self.snapshot_of(&key)?;
        let stored = snapshot.get(&key)?;
        stored.map(|stored| Status::decode(&stored)).transpose()
    }

    /// A snapshot to read one key, which is prefetched.
    fn snapshot_of(&self, key: &[u8]) -> Result<Box<dyn Snapshot + Send>> {
        let expect = |expected: &mut PrefetchList| expected.key(key);
        Ok(self.driver.snapshot_with_prefetch(&expect)?)
    }

    /// The latest statuses of all metrics whose names begin with `prefix`.
    pub fn statuses(&self, prefix: &str) -> Result<Vec<Status>> {
        let snapshot = self.driver.snapshot()?;
        let mut cursor = snapshot.scan(&self.layout.statuses(prefix), Direction::Forward)?;
        let mut statuses = Vec::new();
        while let Some((_, row)) = cursor.next()? {
            let status = Status::decode(row)?;
            if status.metric.name.starts_with(prefix) {
                statuses.push(status);
            }
        }
        Ok(statuses)
    }
}

impl Status {
    fn encode(&self) -> Vec<u8> {
        let mut row = self.at.as_nanosecond().to_le_bytes().to_vec();
        put_text(&mut row, self.json.as_bytes());
        row.extend(self.metric.encode());
        row
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self> {
        let unreadable = || Error::corrupt("a stored status cannot be read");
        let (at, mut rest) = row.split_first_chunk().ok_or_else(unreadable)?;
        let at = Timestamp::from_nanosecond(i128::from_le_bytes(*at)).map_err(|_| unreadable())?;
        let json = take_text(&mut rest)?.to_vec();
        Ok(Self {
            at,
            json: String::from_utf8(json).map_err(|_| unreadable())?,
            metric: Metric::decode(rest)?,
        })
    }
}
