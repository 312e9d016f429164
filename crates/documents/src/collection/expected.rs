//! What is going to be read, told beforehand: an engine behind a network brings it with the snapshot.

use espalier_keyspace::Expected;

use super::Opened;
use crate::definition::Kind;
use crate::document::Document;
use crate::entries;
use crate::layout::unique_row;
use crate::shape::BoundIndex;
use crate::{Query, Value};

/// Rows of an index that are brought with a snapshot.
const ENTRIES: usize = 256;

impl<T: Document> Opened<T> {
    /// Reading a document.
    pub(super) fn expect_document(&self, key: u64, expected: &mut Expected) {
        let keys = &self.shape.keys;
        expected.key(keys.document(key));
        expected.key(keys.generation());
    }

    /// Changing a document of which the key is known.
    pub(super) fn expect_change(&self, key: u64, new: Option<&T>, expected: &mut Expected) {
        self.expect_document(key, expected);
        if let Some(new) = new {
            self.expect_new(new, expected);
        }
    }

    /// Adding a document.
    pub(super) fn expect_new(&self, new: &T, expected: &mut Expected) {
        let keys = &self.shape.keys;
        expected.key(keys.state());
        if self.cache.is_kept() {
            expected.key(keys.sequence());
        }
        let indexes = self.shape.indexes.iter();
        for index in indexes.filter(|index| index.kind == Kind::Unique) {
            // One whose values cannot be told refuses the document later.
            for value in index.values(new).unwrap_or_default() {
                expected.key(unique_row(&index.prefix, &value));
            }
        }
    }

    /// Looking for what has a value.
    pub(super) fn expect_value(
        &self,
        index: &BoundIndex<T>,
        value: &Value,
        expected: &mut Expected,
    ) {
        match index.kind {
            Kind::Unique => {
                expected.key(unique_row(&index.prefix, value));
                expected.key(self.shape.keys.generation());
            }
            Kind::Partition | Kind::Tags => {
                self.expect_entries(index, &Query::value(value.clone()).limit(1), expected);
            }
        }
    }

    /// Looking for what a query finds.
    pub(super) fn expect_entries(
        &self,
        index: &BoundIndex<T>,
        query: &Query,
        expected: &mut Expected,
    ) {
        if !query.is_nothing {
            let range = entries::range(&index.prefix, index.kind, query);
            // One more tells that there are no more.
            let rows = ENTRIES.min(query.wanted().saturating_add(1));
            expected.range(range, rows);
            expected.key(self.shape.keys.generation());
        }
    }
}
