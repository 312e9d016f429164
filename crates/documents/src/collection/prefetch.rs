//! Prefetch: the rows that an operation is going to read are requested together with the snapshot, in one
//! round trip to an engine behind a network.

use espalier_keyspace::PrefetchList;

use super::Opened;
use crate::bound_definition::BoundIndex;
use crate::definition::Kind;
use crate::document::Document;
use crate::entries;
use crate::layout::unique_row;
use crate::{Query, Value};

/// The number of index rows that are prefetched with a snapshot.
const ENTRIES: usize = 256;

impl<T: Document> Opened<T> {
    /// Prefetches a document to read it.
    pub(super) fn prefetch_document(&self, key: u64, expected: &mut PrefetchList) {
        let keys = &self.shape.keys;
        expected.key(keys.document(key));
        expected.key(keys.generation());
    }

    /// Prefetches a document with a given key to change it.
    pub(super) fn prefetch_change(&self, key: u64, new: Option<&T>, expected: &mut PrefetchList) {
        self.prefetch_document(key, expected);
        if let Some(new) = new {
            self.prefetch_insertion(new, expected);
        }
    }

    /// Prefetches for an insertion.
    pub(super) fn prefetch_insertion(&self, new: &T, expected: &mut PrefetchList) {
        let keys = &self.shape.keys;
        expected.key(keys.state());
        if self.cache.is_enabled() {
            expected.key(keys.sequence());
        }
        let indexes = self.shape.indexes.iter();
        for index in indexes.filter(|index| index.kind == Kind::Unique) {
            // If the values cannot be computed, the document is rejected later.
            for value in index.values(new).unwrap_or_default() {
                expected.key(unique_row(&index.prefix, &value));
            }
        }
    }

    /// Prefetches the entries of a value.
    pub(super) fn prefetch_value(
        &self,
        index: &BoundIndex<T>,
        value: &Value,
        expected: &mut PrefetchList,
    ) {
        match index.kind {
            Kind::Unique => {
                expected.key(unique_row(&index.prefix, value));
                expected.key(self.shape.keys.generation());
            }
            Kind::Partition | Kind::Tags => {
                self.prefetch_entries(index, &Query::value(value.clone()).limit(1), expected);
            }
        }
    }

    /// Prefetches the entries of a query.
    pub(super) fn prefetch_entries(
        &self,
        index: &BoundIndex<T>,
        query: &Query,
        expected: &mut PrefetchList,
    ) {
        if !query.is_always_empty {
            let range = entries::range(&index.prefix, index.kind, query);
            // One more row shows whether there are more entries.
            let rows = ENTRIES.min(query.entries_needed().saturating_add(1));
            expected.range(range, rows);
            expected.key(self.shape.keys.generation());
        }
    }
}
