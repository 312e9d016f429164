//! The cached state of one document.

use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use espalier_keyspace::Version;

use crate::index_values::Values;

// Commits, watches and snapshots arrive in any order: docs/decisions/0044.
/// The state of a document at a version.
pub(crate) struct DocumentState<T> {
    pub(crate) key: u64,
    pub(crate) version: Version,
    /// `None` if there was no such document.
    pub(crate) present: Option<Present<T>>,
}

/// The state of an existing document.
pub(crate) struct Present<T> {
    pub(crate) document: Arc<T>,
    /// The hash of its row.
    pub(crate) hash: u64,
    /// Bytes of its row.
    pub(crate) bytes: usize,
    /// Its values in each index, if already computed.
    pub(crate) values: Option<Vec<Values>>,
}

impl<T> Present<T> {
    pub(crate) fn new(document: Arc<T>, row: &[u8]) -> Self {
        Self {
            document,
            hash: row_hash(row),
            bytes: row.len(),
            values: None,
        }
    }

    /// The same, with its values in each index.
    pub(crate) fn with_values(self, values: Vec<Values>) -> Self {
        Self {
            values: Some(values),
            ..self
        }
    }
}

/// A hash to compare rows.
pub(crate) fn row_hash(row: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(row);
    hasher.finish()
}
