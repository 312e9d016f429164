//! Sends the entries of a page.

use espalier_keyspace::KeyRange;
use espalier_yang::Value;
use espalier_yang::data::Annotations;

use super::filtered_output::FilteredOutput;
use crate::error::Result;
use crate::tree::read::EntryReader;

/// What is sent of entries, and to where.
pub(super) enum Output<'a> {
    /// The entries as a resource (RFC 8040).
    Resource(EntryReader<'a>),
    /// What a filter selects of them, with their ancestors (RFC 6241).
    Filtered(FilteredOutput<'a>),
}

impl Output<'_> {
    /// Whether anything is sent of an entry.
    pub fn shows(&mut self, entry: &[u8], row: &[u8]) -> Result<bool> {
        match self {
            Self::Resource(reader) => reader.shows(entry, row),
            Self::Filtered(filtered) => filtered.shows(entry),
        }
    }

    /// Whether entries of the list can have the selected content.
    pub fn is_selected(&self) -> bool {
        match self {
            Self::Resource(reader) => reader.is_selected(),
            Self::Filtered(filtered) => filtered.entries.is_selected(),
        }
    }

    /// Whether a range of entries can be sent at once; what is not shown is left out.
    pub fn sends_ranges(&self) -> bool {
        matches!(self, Self::Resource(_))
    }

    /// Annotates the next entry; false if the receiver accepts no more.
    pub fn annotate(&mut self, annotations: Annotations) -> Result<bool> {
        match self {
            _ if annotations.is_empty() => Ok(true),
            Self::Resource(reader) => reader.annotate(annotations),
            Self::Filtered(filtered) => {
                filtered.annotate(annotations);
                Ok(true)
            }
        }
    }

    /// Sends an entry; false if the receiver accepts no more.
    pub fn send(&mut self, entry: &[u8]) -> Result<bool> {
        match self {
            Self::Resource(reader) => reader.send(&KeyRange::prefix(entry)),
            Self::Filtered(filtered) => filtered.send(entry),
        }
    }

    /// Sends the entries of a range, in the order of the list.
    pub fn send_range(&mut self, range: &KeyRange) -> Result<()> {
        if let Self::Resource(reader) = self {
            reader.send(range)?;
        }
        Ok(())
    }

    /// The defaults that are sent in place of the entries of an unset leaf-list.
    pub fn defaults(&mut self) -> Result<Vec<Value>> {
        match self {
            Self::Resource(reader) => reader.defaults(),
            Self::Filtered(_) => Ok(Vec::new()),
        }
    }

    /// Sends a default; false if the receiver accepts no more.
    pub fn send_default(&mut self, default: &Value) -> Result<bool> {
        match self {
            Self::Resource(reader) => reader.send_default(default),
            Self::Filtered(_) => Ok(false),
        }
    }

    /// Ends the page.
    pub fn end(&mut self) {
        if let Self::Filtered(filtered) = self {
            filtered.end();
        }
    }
}
