//! Reading and changing documents by the value of an index.

use std::ops::ControlFlow;
use std::sync::Arc;

use espalier_keyspace::tuple::put_unsigned;
use espalier_keyspace::{Direction, KeyRange, Prefetch, PrefetchList, Snapshot};

use super::{Collection, Opened};
use crate::bound_definition::BoundIndex;
use crate::cache::Hit;
use crate::definition::Kind;
use crate::document::Document;
use crate::entries::{self, Entry};
use crate::row_reader::{Reader, View};
use crate::set_operation::{SetOperation, combine};
use crate::value::IntoValue;
use crate::{Error, Query, Result, Value};

/// Bytes of a mark: more than that of any value.
const MARK_BYTES_MAX: usize = 1024;

/// An index of a collection.
pub struct Index<T> {
    pub(super) collection: Collection<T>,
    pub(super) opened: Arc<Opened<T>>,
    slot: usize,
}

/// A document that a query found.
#[derive(Debug)]
pub struct Found<T> {
    /// The value by which it was found; `None` if it cannot be computed.
    pub value: Option<Value>,
    /// Its key.
    pub key: u64,
    /// The document.
    pub document: Arc<T>,
}

/// A value of an index, and how many documents have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueCount {
    /// The value.
    pub value: Value,
    /// How many documents have it.
    pub count: u64,
}

impl<T: Document> Index<T> {
    pub(super) fn new(collection: Collection<T>, opened: Arc<Opened<T>>, slot: usize) -> Self {
        Self {
            collection,
            opened,
            slot,
        }
    }

    pub(super) fn bound(&self) -> &BoundIndex<T> {
        &self.opened.shape.indexes[self.slot]
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.bound().name
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        self.bound().kind
    }

    fn snapshot(&self, expect: Prefetch<'_>) -> Result<Box<dyn Snapshot>> {
        let storage = self.opened.shape.keys.storage;
        self.collection
            .core()
            .snapshot_with_prefetch(storage, expect)
    }

    /// A snapshot to read the entries of a query; they are prefetched unless they are in memory.
    fn snapshot_for(&self, query: &Query) -> Result<Box<dyn Snapshot>> {
        self.snapshot(&|expected| {
            if self.opened.resident().is_none() {
                self.opened.prefetch_entries(self.bound(), query, expected);
            }
        })
    }

    /// Validates a value for the index.
    pub(super) fn checked(&self, value: impl IntoValue) -> Result<Option<Value>> {
        let value = value.into_value();
        if let Some(value) = &value {
            self.bound().check(value)?;
        }
        Ok(value)
    }

    fn checked_query(&self, query: impl Into<Query>) -> Result<Query> {
        let query = query.into();
        self.bound().check_query(&query)?;
        Ok(query)
    }

    /// After an empty result: verifies that the index is still the stored one.
    fn check_generation(&self, snapshot: &dyn Snapshot) -> Result<()> {
        let Some(now) = self.collection.changed(&self.opened, snapshot)? else {
            return Ok(());
        };
        let shape = &self.opened.shape;
        if now.shape.id == shape.id
            && now
                .shape
                .indexes
                .iter()
                .any(|index| index.id == self.bound().id)
        {
            return Ok(());
        }
        Err(Error::definition(format!(
            "index {:?} of {:?} was dropped or rebuilt; open it again",
            self.name(),
            shape.name
        )))
    }

    /// The document that has this value. If an index that is not unique has several, the one with the
    /// smallest key.
    pub fn get(&self, value: impl IntoValue) -> Result<Option<Arc<T>>> {
        if let Some(resident) = self.opened.resident_documents() {
            let Some(value) = self.checked(value)? else {
                return Ok(None);
            };
            return Ok(resident.document_by(self.slot, &value));
        }
        Ok(self.get_with_key(value)?.map(|(_, document)| document))
    }

    /// The document that has this value, with its key.
    pub fn get_with_key(&self, value: impl IntoValue) -> Result<Option<(u64, Arc<T>)>> {
        let Some(value) = self.checked(value)? else {
            return Ok(None);
        };
        let resident = self.opened.resident();
        let resident_hit = resident.map(|resident| resident.get_by(self.slot, &value));
        if let Some(Some((key, Some(document)))) = resident_hit {
            return Ok(Some((key, document)));
        }
        if self.opened.shape.policy.keeps_documents() && resident_hit.is_some() {
            return Ok(None);
        }
        let snapshot = self.snapshot(&|expected| match &resident_hit {
            Some(Some((key, _))) => self.opened.prefetch_document(*key, expected),
            Some(None) => {}
            None => self.opened.prefetch_value(self.bound(), &value, expected),
        })?;
        let key = match resident_hit {
            Some(found) => found.map(|(key, _)| key),
            None => self.stored_key(&*snapshot, &value)?,
        };
        let Some(key) = key else {
            return Ok(None);
        };
        let document = self.document(&*snapshot, key, |found| found == value.full())?;
        Ok(document.map(|document| (key, document)))
    }

    fn stored_key(&self, snapshot: &dyn Snapshot, value: &Value) -> Result<Option<u64>> {
        let index = self.bound();
        let key = match index.kind {
            Kind::Unique => entries::unique_key(&mut View(snapshot), &index.prefix, value)?,
            Kind::Partition | Kind::Tags => {
                let query = Query::value(value).limit(1);
                let found = entries::find(&mut View(snapshot), &index.prefix, index.kind, &query)?;
                found.first().map(|entry| entry.key)
            }
        };
        if key.is_none() {
            self.check_generation(snapshot)?;
        }
        Ok(key)
    }

    /// The key of the document that has this value; if there are several, the smallest.
    pub fn key(&self, value: impl IntoValue) -> Result<Option<u64>> {
        let Some(value) = self.checked(value)? else {
            return Ok(None);
        };
        if let Some(resident) = self.opened.resident() {
            return Ok(resident.get_by(self.slot, &value).map(|(key, _)| key));
        }
        let expect = |expected: &mut PrefetchList| {
            self.opened.prefetch_value(self.bound(), &value, expected);
        };
        self.stored_key(&*self.snapshot(&expect)?, &value)
    }

    /// The keys of the documents that match a query, ordered by value, then by key.
    pub fn keys(&self, query: impl Into<Query>) -> Result<Vec<u64>> {
        let query = self.checked_query(query)?;
        if let Some(resident) = self.opened.resident() {
            let hits = resident.find(self.slot, &query);
            return Ok(hits.into_iter().map(|hit| hit.key).collect());
        }
        let found = self.entries(&*self.snapshot_for(&query)?, &query)?;
        Ok(found.into_iter().map(|entry| entry.key).collect())
    }

    /// The documents that match a query, with their keys, ordered by value, then by key.
    pub fn find(&self, query: impl Into<Query>) -> Result<Vec<(u64, Arc<T>)>> {
        let query = self.checked_query(query)?;
        if let Some(resident) = self.opened.resident_documents() {
            return Ok(resident.documents(self.slot, &query));
        }
        if let Some(value) = query.unlimited_value() {
            return self.find_value(&query, value);
        }
        let found = self.find_with_values(query)?.into_iter();
        Ok(found.map(|found| (found.key, found.document)).collect())
    }

    /// All documents that have a value.
    fn find_value(&self, query: &Query, value: &Value) -> Result<Vec<(u64, Arc<T>)>> {
        let snapshot = self.snapshot_for(query)?;
        let keys = self.keys_of(&*snapshot, value)?;
        if keys.is_empty() {
            self.check_generation(&*snapshot)?;
        }
        let is_match = |_, full: &[u8]| full.starts_with(value.full());
        let documents = self.documents(&*snapshot, &keys, is_match)?;
        let found = keys.into_iter().zip(documents);
        Ok(found
            .filter_map(|(key, document)| Some((key, document?)))
            .collect())
    }

    /// Like [`Self::find`], with the value by which each document was found, as needed for [`Query::after`].
    pub fn find_with_values(&self, query: impl Into<Query>) -> Result<Vec<Found<T>>> {
        let query = self.checked_query(query)?;
        if let Some(resident) = self.opened.resident() {
            let hits = resident.find(self.slot, &query);
            if self.opened.shape.policy.keeps_documents() {
                let mut found = Vec::with_capacity(hits.len());
                for hit in hits {
                    let value = hit_value(&hit, &query)?;
                    if let Some(document) = hit.document {
                        found.push(Found {
                            value,
                            key: hit.key,
                            document,
                        });
                    }
                }
                return Ok(found);
            }
            let snapshot = self.snapshot(&|_| {})?;
            let values = hits.iter().map(|hit| hit_value(hit, &query));
            let values: Vec<_> = values.collect::<Result<_>>()?;
            let keys: Vec<_> = hits.iter().map(|hit| hit.key).collect();
            let has_value = |place: usize, full: &[u8]| {
                let value: Option<&Value> = values[place].as_ref();
                value.is_some_and(|value| value.full() == full)
            };
            let documents = self.documents(&*snapshot, &keys, has_value)?;
            return Ok(found_of(values, keys, documents));
        }
        let snapshot = self.snapshot_for(&query)?;
        let entries = self.entries(&*snapshot, &query)?;
        let keys: Vec<_> = entries.iter().map(|entry| entry.key).collect();
        let has_value = |place: usize, full: &[u8]| full == entries[place].full;
        let documents = self.documents(&*snapshot, &keys, has_value)?;
        let values = entries.iter().map(|entry| Value::stored(&entry.full, &[]));
        let values = values.map(|value| value.map(Some));
        let values = values.collect::<Result<_>>()?;
        Ok(found_of(values, keys, documents))
    }

    fn entries(&self, snapshot: &dyn Snapshot, query: &Query) -> Result<Vec<Entry>> {
        let index = self.bound();
        let found = entries::find(&mut View(snapshot), &index.prefix, index.kind, query)?;
        if found.is_empty() {
            self.check_generation(snapshot)?;
        }
        Ok(found)
    }

    /// The number of entries that match a query.
    pub fn count(&self, query: impl Into<Query>) -> Result<usize> {
        Ok(self.keys(query)?.len())
    }

    /// The documents that have all of these values, in the order of keys (intersection).
    pub fn all<V: IntoValue>(
        &self,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Vec<(u64, Arc<T>)>> {
        self.combined(values, SetOperation::Intersection)
    }

    /// The documents that have any of these values, each once, in the order of keys (union).
    pub fn any<V: IntoValue>(
        &self,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Vec<(u64, Arc<T>)>> {
        self.combined(values, SetOperation::Union)
    }

    fn combined<V: IntoValue>(
        &self,
        values: impl IntoIterator<Item = V>,
        operation: SetOperation,
    ) -> Result<Vec<(u64, Arc<T>)>> {
        let values = values.into_iter().map(|value| self.checked(value));
        let values: Vec<Option<Value>> = values.collect::<Result<_>>()?;
        if operation == SetOperation::Intersection && values.iter().any(Option::is_none) {
            return Ok(Vec::new());
        }
        let values: Vec<Value> = values.into_iter().flatten().collect();
        if let Some(resident) = self.opened.resident_documents() {
            return Ok(resident.combined_documents(self.slot, &values, operation));
        }
        let snapshot = self.snapshot(&|expected| {
            if self.opened.resident().is_none() {
                for value in &values {
                    let query = Query::value(value);
                    self.opened.prefetch_entries(self.bound(), &query, expected);
                }
            }
        })?;
        let lists = values.iter().map(|value| {
            let keys = self.keys_of(&*snapshot, value)?.into_iter();
            Ok(keys.map(|key| (key, ())).collect())
        });
        let combined = combine(lists.collect::<Result<_>>()?, operation);
        let keys: Vec<_> = combined.into_iter().map(|(key, ())| key).collect();
        let is_any = |_, full: &[u8]| values.iter().any(|value| full.starts_with(value.full()));
        let documents = self.documents(&*snapshot, &keys, is_any)?;
        let mut found = Vec::with_capacity(keys.len());
        for (key, document) in keys.into_iter().zip(documents) {
            if let Some(document) = document
                && (operation == SetOperation::Union || self.has_all(&document, &values)?)
            {
                found.push((key, document));
            }
        }
        Ok(found)
    }

    fn keys_of(&self, snapshot: &dyn Snapshot, value: &Value) -> Result<Vec<u64>> {
        if let Some(resident) = self.opened.resident() {
            return Ok(resident.keys(self.slot, value));
        }
        let index = self.bound();
        match index.kind {
            Kind::Unique => {
                let query = Query::value(value);
                let found = entries::find(&mut View(snapshot), &index.prefix, index.kind, &query)?;
                Ok(found.into_iter().map(|entry| entry.key).collect())
            }
            Kind::Partition | Kind::Tags => {
                entries::shared_keys(&mut View(snapshot), &index.prefix, value)
            }
        }
    }

    fn has_all(&self, document: &T, values: &[Value]) -> Result<bool> {
        if !self.bound().is_known() {
            return Ok(true);
        }
        let has = self.bound().values(document)?;
        let mut values = values.iter();
        Ok(values.all(|value| {
            has.iter()
                .any(|found| found.full().starts_with(value.full()))
        }))
    }

    /// The value of a document by its mark ([`Value::mark`]); `None` if the document no longer has such a
    /// value.
    pub fn marked(&self, mark: &[u8], key: u64) -> Result<Option<Value>> {
        let index = self.bound();
        if mark.len() > MARK_BYTES_MAX {
            return Ok(None);
        }
        let mut row = [&index.prefix, mark].concat();
        if index.kind != Kind::Unique {
            put_unsigned(&mut row, key);
        }
        let snapshot = self.snapshot(&|expected| expected.key(row.clone()))?;
        let Some(stored) = snapshot.get(&row)? else {
            return Ok(None);
        };
        // A mark that no page returned may be any bytes.
        let entry = entries::parse(&row[index.prefix.len()..], &stored, index.kind);
        Ok(entry
            .ok()
            .and_then(|(short, full, _)| Value::stored(short, full).ok()))
    }

    /// The distinct values in order, with the number of documents for each; at most `limit` values after
    /// `after`.
    pub fn values(&self, after: Option<&Value>, limit: usize) -> Result<Vec<ValueCount>> {
        self.values_after(after.map(Value::mark), limit)
    }

    /// Like [`Self::values`], after the value of a mark; no document needs to have that value any more.
    pub fn values_after(&self, mark: Option<&[u8]>, limit: usize) -> Result<Vec<ValueCount>> {
        let index = self.bound();
        let snapshot = self.snapshot(&|_| {})?;
        let mut range = KeyRange::prefix(&index.prefix);
        if let Some(mark) = mark
            && let Some(start) = entries::after_value(&index.prefix, mark)
        {
            range.start = start;
        }
        let mut listed: Vec<ValueCount> = Vec::new();
        let mut last: Vec<u8> = Vec::new();
        View(&*snapshot).scan(&range, Direction::Forward, &mut |row, stored| {
            let (short, full, _) = entries::parse(&row[index.prefix.len()..], stored, index.kind)?;
            let is_full = listed.len() == limit;
            match listed.last_mut() {
                Some(listed) if last == short => listed.count += 1,
                _ if is_full => return Ok(ControlFlow::Break(())),
                _ => {
                    last = short.to_vec();
                    let value = Value::stored(short, full)?;
                    listed.push(ValueCount { value, count: 1 });
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(listed)
    }
}

fn hit_value<T>(hit: &Hit<T>, query: &Query) -> Result<Option<Value>> {
    match (&hit.full, query.equal()) {
        (Some(full), _) => Value::stored(full, &[]).map(Some),
        (None, Some(value)) => Ok(Some(value.clone())),
        (None, None) => Ok(None),
    }
}

fn found_of<T>(
    values: Vec<Option<Value>>,
    keys: Vec<u64>,
    documents: Vec<Option<Arc<T>>>,
) -> Vec<Found<T>> {
    let found = values.into_iter().zip(keys).zip(documents);
    let found = found.filter_map(|((value, key), document)| {
        Some(Found {
            value,
            key,
            document: document?,
        })
    });
    found.collect()
}
