//! The keys of all rows in the key space. Every byte is described in `docs/formats.md`.

use espalier_keyspace::{KeyRange, tuple};

use crate::limits::BLOCK_BUCKETS;
use crate::{Granularity, Metric, Path};

const SETTINGS: u8 = 0x00;
const ROWS: u8 = 0x01;
const METRICS: u8 = 0x02;
const SKETCHES: u8 = 0x03;
const STATUSES: u8 = 0x04;
const REQUESTS: u8 = 0x05;
const REQUEST_TIMES: u8 = 0x06;
const CLOCK: u8 = 0x07;
const RECENT: u8 = 0x08;
const BLOCKS: u8 = 0x09;

/// The kinds of rows of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BucketKind {
    /// Rows of numbers.
    Numbers,
    /// One row for each sketch.
    Sketches,
}

impl BucketKind {
    pub(crate) const ALL: [Self; 2] = [Self::Numbers, Self::Sketches];

    fn id(self) -> u8 {
        match self {
            Self::Numbers => ROWS,
            Self::Sketches => SKETCHES,
        }
    }
}

/// The kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowKind {
    /// The settings.
    Settings,
    /// Numbers of a bucket that has rows of its own.
    Numbers,
    /// The newest buckets of a metric.
    Recent,
    /// Older buckets of a metric and granularity.
    Block,
    /// An existing metric.
    Metric,
    /// A sketch of a bucket.
    Sketch,
    /// A status.
    Status,
    /// An executed request.
    Request,
    /// The time of an executed request.
    RequestTime,
    /// The retention clock's trusted time.
    Clock,
}

/// The keys below a prefix.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    prefix: Vec<u8>,
}

impl Layout {
    pub(crate) fn new(prefix: &[u8]) -> Self {
        Self {
            prefix: prefix.to_vec(),
        }
    }

    fn key_prefix(&self, id: u8) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.prefix.len() + 48);
        key.extend_from_slice(&self.prefix);
        key.push(id);
        key
    }

    /// All keys.
    pub(crate) fn everything(&self) -> KeyRange {
        KeyRange::prefix(&self.prefix)
    }

    /// The kind of row of a key, if it is a known one.
    pub(crate) fn kind_of(&self, key: &[u8]) -> Option<RowKind> {
        let id = key.strip_prefix(self.prefix.as_slice())?.first()?;
        Some(match *id {
            SETTINGS => RowKind::Settings,
            ROWS => RowKind::Numbers,
            METRICS => RowKind::Metric,
            SKETCHES => RowKind::Sketch,
            STATUSES => RowKind::Status,
            REQUESTS => RowKind::Request,
            REQUEST_TIMES => RowKind::RequestTime,
            CLOCK => RowKind::Clock,
            RECENT => RowKind::Recent,
            BLOCKS => RowKind::Block,
            _ => return None,
        })
    }

    /// The row of the settings.
    pub(crate) fn settings(&self) -> Vec<u8> {
        self.key_prefix(SETTINGS)
    }

    /// The row with the retention clock's trusted time.
    pub(crate) fn clock(&self) -> Vec<u8> {
        self.key_prefix(CLOCK)
    }

    fn of_metric(&self, id: u8, metric: &Metric) -> Vec<u8> {
        let mut key = self.key_prefix(id);
        tuple::put_bytes(&mut key, metric.name.as_bytes());
        tuple::put_binary(&mut key, &metric.label_bytes());
        key
    }

    /// The row that lists a metric.
    pub(crate) fn metric(&self, metric: &Metric) -> Vec<u8> {
        self.of_metric(METRICS, metric)
    }

    /// The rows of the metrics whose names begin with `prefix`; may include a few others.
    pub(crate) fn metrics(&self, prefix: &str) -> KeyRange {
        self.names_from(METRICS, prefix)
    }

    fn names_from(&self, id: u8, prefix: &str) -> KeyRange {
        let shown = prefix.len().min(tuple::LONG_PREFIX_BYTES);
        let mut key = Vec::new();
        tuple::put_bytes(&mut key, &prefix.as_bytes()[..shown]);
        key.pop();
        let mut start = self.key_prefix(id);
        start.extend(key);
        KeyRange::prefix(&start)
    }

    /// The rows of all metrics with a name.
    pub(crate) fn metrics_named(&self, name: &str) -> KeyRange {
        let mut start = self.key_prefix(METRICS);
        tuple::put_bytes(&mut start, name.as_bytes());
        KeyRange::prefix(&start)
    }

    /// The key prefix of a metric's buckets of a granularity.
    pub(crate) fn buckets(
        &self,
        kind: BucketKind,
        metric: &Metric,
        granularity: Granularity,
    ) -> Vec<u8> {
        self.of_granularity(kind.id(), metric, granularity)
    }

    fn of_granularity(&self, id: u8, metric: &Metric, granularity: Granularity) -> Vec<u8> {
        let mut key = self.of_metric(id, metric);
        key.push(granularity.unit().id());
        tuple::put_unsigned(&mut key, u64::from(granularity.count()));
        key
    }

    /// The row with the newest buckets of a metric.
    pub(crate) fn recent(&self, metric: &Metric) -> Vec<u8> {
        self.of_metric(RECENT, metric)
    }

    /// The key prefix of the block rows of a metric and granularity.
    pub(crate) fn blocks(&self, metric: &Metric, granularity: Granularity) -> Vec<u8> {
        self.of_granularity(BLOCKS, metric, granularity)
    }

    /// All rows of a metric.
    pub(crate) fn everything_of(&self, metric: &Metric) -> Vec<KeyRange> {
        [ROWS, SKETCHES, METRICS, STATUSES, RECENT, BLOCKS]
            .map(|id| KeyRange::prefix(&self.of_metric(id, metric)))
            .into()
    }

    /// The row of the status of a metric.
    pub(crate) fn status(&self, metric: &Metric) -> Vec<u8> {
        self.of_metric(STATUSES, metric)
    }

    /// The rows of the statuses of metrics whose names begin with `prefix`; see [`Self::metrics`].
    pub(crate) fn statuses(&self, prefix: &str) -> KeyRange {
        self.names_from(STATUSES, prefix)
    }

    /// The row of an executed request.
    pub(crate) fn request(&self, id: &str) -> Vec<u8> {
        let mut key = self.key_prefix(REQUESTS);
        tuple::put_bytes(&mut key, id.as_bytes());
        key
    }

    /// The row with the time of an executed request, for its removal; its value is the key of the request's
    /// row.
    pub(crate) fn request_time(&self, second: i64, id: &str) -> Vec<u8> {
        let mut key = self.key_prefix(REQUEST_TIMES);
        tuple::put_signed(&mut key, second);
        tuple::put_bytes(&mut key, id.as_bytes());
        key
    }

    /// The rows of the requests that were executed before a time.
    pub(crate) fn requests_before(&self, second: i64) -> KeyRange {
        let start = self.key_prefix(REQUEST_TIMES);
        KeyRange::new(start.clone(), bucket(&start, second))
    }
}

/// The key of a bucket, with a prefix from [`Layout::buckets`].
pub(crate) fn bucket(buckets: &[u8], start: i64) -> Vec<u8> {
    let mut key = buckets.to_vec();
    tuple::put_signed(&mut key, start);
    key
}

/// The key of a block row, with a prefix from [`Layout::blocks`].
pub(crate) fn block(blocks: &[u8], number: i64) -> Vec<u8> {
    bucket(blocks, number)
}

/// The number of the block row that a bucket belongs to.
pub(crate) fn block_number(granularity: Granularity, start: i64) -> i64 {
    start.div_euclid(granularity.usual_seconds() * BLOCK_BUCKETS)
}

/// The key of a sketch, below the key of a bucket.
pub(crate) fn sketch(bucket: &[u8], path: &Path) -> Vec<u8> {
    let mut key = bucket.to_vec();
    tuple::put_bytes(&mut key, path.as_str().as_bytes());
    key
}

/// The start of a bucket; `rest` is its key after the prefix from [`Layout::buckets`].
pub(crate) fn bucket_start(mut rest: &[u8]) -> crate::Result<i64> {
    match tuple::take(&mut rest)? {
        tuple::Element::Integer(start) => i64::try_from(start)
            .map_err(|_| crate::Error::corrupt("the start of a bucket is out of range")),
        _ => Err(crate::Error::corrupt("the key of a bucket has no time")),
    }
}
