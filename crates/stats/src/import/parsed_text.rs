//! The result of parsing lines, common to all formats.

use crate::{Error, Metric, Write};

/// Bytes of one line.
pub(super) const LINE_BYTES_MAX: usize = 64 << 10;

/// The result of parsing a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The writes, in order.
    pub writes: Vec<Write>,
    /// The lines without a write.
    pub skipped: Vec<Skipped>,
}

/// A line without a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Its number, starting at 1.
    pub line: usize,
    /// The reason.
    pub reason: String,
}

pub(super) fn too_long() -> Error {
    Error::limit(format!(
        "the line exceeds the limit of {LINE_BYTES_MAX} bytes"
    ))
}

/// Adds a label to a metric; duplicate labels are rejected.
pub(super) fn put_label(metric: &mut Metric, name: &str, value: String) -> crate::Result<()> {
    match metric.labels.insert(name.to_owned(), value) {
        None => Ok(()),
        Some(_) => Err(Error::syntax(format!("the label {name:?} is given twice"))),
    }
}

impl Imported {
    /// Parses every line that is not empty.
    pub(super) fn read(
        text: &str,
        mut read: impl FnMut(&str) -> crate::Result<Vec<Write>>,
    ) -> Self {
        let mut imported = Self::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            let result = if line.is_empty() {
                continue;
            } else if line.len() > LINE_BYTES_MAX {
                Err(too_long())
            } else {
                read(line)
            };
            match result {
                Ok(writes) => imported.writes.extend(writes),
                Err(error) => imported.skipped.push(Skipped {
                    line: index + 1,
                    reason: error.to_string(),
                }),
            }
        }
        imported
    }
}
