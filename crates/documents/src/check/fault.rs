//! The faults that a check finds.

use std::fmt;

use crate::layout::State;

/// A fault that [`crate::Collection::check`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The place: the collection, and the document or the index in it.
    pub place: String,
    /// A description of the problem.
    pub problem: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

/// A fault, as input for the repair.
#[derive(Debug)]
pub(super) enum Fault {
    /// A document that cannot be read. It cannot be repaired.
    Unreadable { key: u64, reason: String },
    /// An index that is not built.
    Unbuilt { slot: usize },
    /// A document without its entry in an index.
    MissingEntry {
        slot: usize,
        key: u64,
        value: String,
    },
    /// Two documents with the same value of a unique index. It cannot be repaired automatically.
    DuplicateValue {
        slot: usize,
        key: u64,
        other: u64,
        value: String,
    },
    /// An entry without a document that has its value.
    StrayEntry { slot: usize, row: Vec<u8>, key: u64 },
    /// An entry that cannot be read.
    BrokenEntry { row: Vec<u8>, reason: String },
    /// An entry of an unknown index.
    UnknownIndex { row: Vec<u8>, id: u64 },
    /// A wrong counter of documents.
    Count { stored: Option<u64>, counted: u64 },
    /// A wrong next key or generation.
    State { stored: Option<State>, right: State },
}
