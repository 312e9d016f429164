//! What can be wrong.

use std::fmt;

use crate::layout::State;

/// A fault that [`crate::Collection::check`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where: the collection, and the document or the index in it.
    pub place: String,
    /// What is wrong, in a sentence.
    pub problem: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

/// A fault, as the repair takes it.
#[derive(Debug)]
pub(super) enum Fault {
    /// A document that cannot be read. Nothing mends it.
    Unreadable { key: u64, reason: String },
    /// An index that is not built.
    Unbuilt { slot: usize },
    /// A document that an index lacks.
    MissingEntry {
        slot: usize,
        key: u64,
        value: String,
    },
    /// Two documents that have the same value of a unique index. Nothing mends it.
    Twice {
        slot: usize,
        key: u64,
        other: u64,
        value: String,
    },
    /// An entry without a document that has its value.
    StrayEntry { slot: usize, row: Vec<u8>, key: u64 },
    /// An entry that cannot be read.
    BrokenEntry { row: Vec<u8>, reason: String },
    /// An entry of an index that there is not.
    NoIndex { row: Vec<u8>, id: u64 },
    /// The counter of documents.
    Count { stored: Option<u64>, counted: u64 },
    /// The next key, or the generation.
    State { stored: Option<State>, right: State },
}
