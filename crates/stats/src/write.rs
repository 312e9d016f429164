//! What is to be written.

use crate::import::Part;
use crate::limits::{REQUEST_ID_BYTES_MAX, VALUES_MAX, WRITES_MAX};
use crate::{Designator, Error, Metric, Number, Packed, Result, Timestamp};

/// What happens to the values of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The given values are added to what is there.
    Track,
    /// The given values take the place of what is there; others stay.
    Assert,
    /// The given values go into sketches, which tell quantiles.
    Observe,
    /// The given values are added to the latest there are, which may stand in an earlier bucket.
    Adjust,
}

/// Whether a write is listed under [`crate::SYSTEM_METRIC`] by the name of its metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listing {
    /// By its name.
    #[default]
    Listed,
    /// Under [`crate::UNTRACKED`].
    Untracked,
}

/// One metric's values at one time, to be written at every granularity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// What is written to.
    pub metric: Metric,
    /// When it happened.
    pub at: Timestamp,
    /// What happens to the values.
    pub action: Action,
    /// The values.
    pub values: Packed,
    /// Whether it is listed.
    pub listing: Listing,
    /// How many calls it stands for, as the listing counts them.
    pub calls: u64,
}

impl Write {
    fn new(action: Action, metric: impl Into<Metric>, at: Timestamp, values: Packed) -> Self {
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
    pub fn track(metric: impl Into<Metric>, at: Timestamp, values: Packed) -> Self {
        Self::new(Action::Track, metric, at, values)
    }

    /// Sets values.
    pub fn assert(metric: impl Into<Metric>, at: Timestamp, values: Packed) -> Self {
        Self::new(Action::Assert, metric, at, values)
    }

    /// Adds values to the latest there are. Where a bucket has no value of a path, it begins with that of
    /// the last bucket before it that has one and is still kept; with 0 where there is none.
    pub fn adjust(metric: impl Into<Metric>, at: Timestamp, values: Packed) -> Self {
        Self::new(Action::Adjust, metric, at, values)
    }

    /// Puts values into sketches.
    pub fn observe(metric: impl Into<Metric>, at: Timestamp, values: Packed) -> Self {
        Self::new(Action::Observe, metric, at, values)
    }

    /// Counts values by the designator's labels: `{"a": 15}` adds 1 to `a.20`.
    pub fn assort(
        metric: impl Into<Metric>,
        at: Timestamp,
        values: &Packed,
        designator: &Designator,
    ) -> Result<Self> {
        let counted = values.iter().map(|(path, &value)| {
            let label = designator.designate(value).replace('.', "_");
            Ok((path.child(&label)?, Number::ONE))
        });
        let counted = counted.collect::<Result<Packed>>()?;
        Ok(Self::track(metric, at, counted))
    }

    /// The same write, not listed by the name of its metric.
    #[must_use]
    pub fn untracked(mut self) -> Self {
        self.listing = Listing::Untracked;
        self
    }

    /// Checks the named limits.
    pub(crate) fn check(&self) -> Result<()> {
        self.metric.check()?;
        let count = self.values.len();
        if count > VALUES_MAX {
            let message = format!("{count} values are over the limit of {VALUES_MAX} in a write");
            return Err(Error::limit(message));
        }
        Ok(())
    }
}

/// Writes that happen together or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The writes, in order.
    pub writes: Vec<Write>,
    /// A name: a request of a name that was done within the last day
    /// ([`crate::limits::REQUEST_ID_SECONDS`]) is not done again. Another request of that name is
    /// refused; only the times may differ.
    pub id: Option<String>,
    /// Where it is a part of an import of this name: which.
    pub(crate) part: Option<Part>,
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

    /// The same request with a name, so that it may be repeated.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// What tells it from another of the same name: all but its times, as one that is repeated may have
    /// that of the repetition.
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

    /// Checks the named limits.
    pub(crate) fn check(&self) -> Result<()> {
        let count = self.writes.len();
        if count > WRITES_MAX {
            let message = format!("{count} writes are over the limit of {WRITES_MAX} in a request");
            return Err(Error::limit(message));
        }
        if let Some(id) = &self.id
            && (id.is_empty() || id.len() > REQUEST_ID_BYTES_MAX)
        {
            return Err(Error::limit(format!(
                "the name of a request has 1 to {REQUEST_ID_BYTES_MAX} bytes"
            )));
        }
        self.writes.iter().try_for_each(Write::check)
    }
}

impl From<Write> for Request {
    fn from(write: Write) -> Self {
        Self::new([write])
    }
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was done.
    Done,
    /// A request of this name was done before; nothing was changed.
    Repeated,
    /// It is all longer ago than any granularity keeps its buckets; nothing was kept.
    TooOld,
    /// It was done but for some of its writes, which are longer ago than that.
    DoneInPart {
        /// How many were not kept.
        too_old: usize,
    },
}
