//! Metrics: a name, and labels to distinguish several with that name.

use std::collections::BTreeMap;
use std::fmt;

use crate::limits::{LABELS_MAX, NAME_BYTES_MAX};
use crate::number::{put_text, take_text};
use crate::{Error, Result};

/// The metric with the activity of the others: `count`, and `keys` with the name of each metric that was
/// written to.
pub const SYSTEM_METRIC: &str = "__system__key__";

/// The name under `keys` for writes that are not listed by their own names.
pub const UNTRACKED: &str = "__untracked__";

/// A name and labels. Different labels make a different metric: values with the labels `status=200` and
/// `status=404` are stored separately, and can be read together ([`crate::Stats::query`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Metric {
    /// The name; by convention such as `event::signup`.
    pub name: String,
    /// Labels and their values.
    pub labels: BTreeMap<String, String>,
}

impl Metric {
    /// A metric without labels.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            labels: BTreeMap::new(),
        }
    }

    /// Adds a label.
    #[must_use]
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(name.into(), value.into());
        self
    }

    /// Checks the limits.
    pub(crate) fn check(&self) -> Result<()> {
        if self.name.is_empty() {
            return Err(Error::argument("a metric must have a name"));
        }
        if self.labels.len() > LABELS_MAX {
            let count = self.labels.len();
            let message = format!("{count} labels exceed the limit of {LABELS_MAX}");
            return Err(Error::limit(message));
        }
        let labels = self.labels.iter().flat_map(|(name, value)| [name, value]);
        for text in labels.chain([&self.name]) {
            if text.len() > NAME_BYTES_MAX {
                return Err(Error::limit(format!(
                    "a name of {} bytes exceeds the limit of {NAME_BYTES_MAX}",
                    text.len()
                )));
            }
        }
        Ok(())
    }

    /// The labels in a canonical encoding.
    pub(crate) fn label_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, value) in &self.labels {
            put_text(&mut bytes, name.as_bytes());
            put_text(&mut bytes, value.as_bytes());
        }
        bytes
    }

    /// Encodes name and labels.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_text(&mut bytes, self.name.as_bytes());
        bytes.extend(self.label_bytes());
        bytes
    }

    /// Decodes name and labels.
    pub(crate) fn decode(mut bytes: &[u8]) -> Result<Self> {
        let mut metric = Self::new(text(&mut bytes)?);
        while !bytes.is_empty() {
            let name = text(&mut bytes)?;
            metric.labels.insert(name, text(&mut bytes)?);
        }
        Ok(metric)
    }
}

fn text(bytes: &mut &[u8]) -> Result<String> {
    let text = take_text(bytes)?.to_vec();
    String::from_utf8(text).map_err(|_| Error::corrupt("a stored name is not valid text"))
}

impl From<&str> for Metric {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl fmt::Display for Metric {
    /// In the format of Prometheus: `name{label="value"}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        for (index, (name, value)) in self.labels.iter().enumerate() {
            write!(f, "{}{name}={value:?}", if index == 0 { '{' } else { ',' })?;
        }
        f.write_str(if self.labels.is_empty() { "" } else { "}" })
    }
}
