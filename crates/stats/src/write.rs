//! Writes and requests.

use crate::import::ImportPart;
use crate::limits::{
    REQUEST_BYTES_MAX, REQUEST_ID_BYTES_MAX, REQUEST_VALUES_MAX, VALUES_MAX, WRITES_MAX,
};
use crate::{Designator, Error, Metric, Number, PathValues, Result, Timestamp};

/// How a write changes the values of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The given values are added to the existing ones.
    Track,
    /// The given values replace the existing ones; other values are unchanged.
    Assert,
    /// The given values are added to sketches, for quantiles.
    Observe,
    /// The given values are added to the latest existing values, which may be in an earlier bucket.
    Adjust,
}

/// How a write is listed under [`crate::SYSTEM_METRIC`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listing {
    /// By the name of its metric.
    #[default]
    Listed,
    /// Under [`crate::UNTRACKED`].
    Untracked,
}

/// The values of one metric at one time, for the buckets of every granularity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The metric.
    pub metric: Metric,
    /// The time of the event.
    pub at: Timestamp,
    /// The action.
    pub action: Action,
    /// The values.
    pub values: PathValues,
    /// How it is listed.
    pub listing: Listing,
    /// The number of calls that it represents, for the listing.
    pub calls: u64,
}

impl Write {
    fn new(action: Action, metric: impl Into<Metric>, at: Timestamp, values: PathValues) -> Self {
        Self {
            metric: metric.into(),
            at,
            action,
            values,
            listing: Listing::Listed,
            calls: 1,
        }
    }

    /// Adds values.
    pub fn track(metric: impl Into<Metric>, at: Timestamp, values: PathValues) -> Self {
        Self::new(Action::Track, metric, at, values)
    }

    /// Sets values.
    pub fn assert(metric: impl Into<Metric>, at: Timestamp, values: PathValues) -> Self {
        Self::new(Action::Assert, metric, at, values)
    }

    /// Adds values to the latest ones. If a bucket has no value of a path, it starts with that of the last
    /// earlier bucket that has one and is retained; with 0 if there is none.
    pub fn adjust(metric: impl Into<Metric>, at: Timestamp, values: PathValues) -> Self {
        Self::new(Action::Adjust, metric, at, values)
    }

    /// Adds values to sketches.
    pub fn observe(metric: impl Into<Metric>, at: Timestamp, values: PathValues) -> Self {
        Self::new(Action::Observe, metric, at, values)
    }

    /// Counts values by the designator's classes: `{"a": 15}` adds 1 to `a.20`.
    pub fn assort(
        metric: impl Into<Metric>,
        at: Timestamp,
        values: &PathValues,
        designator: &Designator,
    ) -> Result<Self> {
        let counted = values.iter().map(|(path, &value)| {
            let label = designator.designate(value).replace('.', "_");
            Ok((path.child(&label)?, Number::ONE))
        });
        let counted = counted.collect::<Result<PathValues>>()?;
        Ok(Self::track(metric, at, counted))
    }

    /// Does not list the write by the name of its metric.
    #[must_use]
    pub fn untracked(mut self) -> Self {
        self.listing = Listing::Untracked;
        self
    }

    /// Its bytes, as [`REQUEST_BYTES_MAX`] counts them.
    fn bytes(&self) -> usize {
        let labels = self.metric.labels.iter();
        let labels = labels.map(|(name, value)| name.len() + value.len());
        let values = self.values.iter();
        let values = values.map(|(path, _)| path.as_str().len() + size_of::<i128>());
        self.metric.name.len() + labels.sum::<usize>() + values.sum::<usize>()
    }

    /// Checks the limits.
    pub(crate) fn check(&self) -> Result<()> {
        self.metric.check()?;
        let count = self.values.len();
        if count > VALUES_MAX {
            let message = format!("{count} values exceed the limit of {VALUES_MAX} in a write");
            return Err(Error::limit(message));
        }
        Ok(())
    }
}

/// Writes that are executed atomically.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The writes, in order.
    pub writes: Vec<Write>,
    /// A name: a request with a name that was executed within the last day
    /// ([`crate::limits::REQUEST_ID_SECONDS`]) is not executed again. A different request under that name is
    /// rejected; only the times may differ.
    pub id: Option<String>,
    /// The part of an import, if it belongs to one with this name.
    pub(crate) part: Option<ImportPart>,
}

impl Request {
    /// A request without a name.
    pub fn new(writes: impl IntoIterator<Item = Write>) -> Self {
        Self {
            writes: writes.into_iter().collect(),
            id: None,
            part: None,
        }
    }

    /// Gives the request a name, so that it may be repeated.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// A hash that distinguishes it from other requests with the same name. Times are not included, because a
    /// repeated request may have the time of the repetition.
    pub(crate) fn fingerprint(&self) -> [u8; 8] {
        let mut hasher = blake3::Hasher::new();
        for write in &self.writes {
            hasher.update(&[write.action as u8, write.listing as u8]);
            hasher.update(&write.metric.encode());
            for (path, number) in &write.values {
                hasher.update(format!("{path}={number}\n").as_bytes());
            }
            hasher.update(b"\n");
        }
        let mut fingerprint = [0; 8];
        hasher.finalize_xof().fill(&mut fingerprint);
        fingerprint
    }

    /// Checks the limits.
    pub(crate) fn check(&self) -> Result<()> {
        let count = self.writes.len();
        if count > WRITES_MAX {
            let message = format!("{count} writes exceed the limit of {WRITES_MAX} in a request");
            return Err(Error::limit(message));
        }
        if let Some(id) = &self.id
            && (id.is_empty() || id.len() > REQUEST_ID_BYTES_MAX)
        {
            return Err(Error::limit(format!(
                "the name of a request must have 1 to {REQUEST_ID_BYTES_MAX} bytes"
            )));
        }
        let (mut values, mut bytes) = (0, 0);
        for write in &self.writes {
            write.check()?;
            values += write.values.len();
            bytes += write.bytes();
        }
        if values > REQUEST_VALUES_MAX {
            let message =
                format!("{values} values exceed the limit of {REQUEST_VALUES_MAX} in a request");
            return Err(Error::limit(message));
        }
        if bytes > REQUEST_BYTES_MAX {
            let message =
                format!("{bytes} bytes exceed the limit of {REQUEST_BYTES_MAX} in a request");
            return Err(Error::limit(message));
        }
        Ok(())
    }
}

impl From<Write> for Request {
    fn from(write: Write) -> Self {
        Self::new([write])
    }
}

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was executed.
    Done,
    /// A request with this name was executed before; nothing was changed.
    Repeated,
    /// All its writes are too old to be retained by any granularity; nothing was stored.
    TooOld,
    /// It was executed, except for some writes that are too old.
    DoneInPart {
        /// The number of writes that were not stored.
        too_old: usize,
    },
}
