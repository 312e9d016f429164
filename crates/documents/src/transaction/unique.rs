//! Unique indexes: at the end of a transaction at most one document has a value; within it several may,
//! because documents may exchange values.

use std::sync::Arc;

use super::Transaction;
use super::write::{OldDocument, missing};
use crate::bound_definition::{BoundIndex, Shape};
use crate::collection::Opened;
use crate::definition::Kind;
use crate::document::Document;
use crate::error::UniqueConflict;
use crate::index_values::Values;
use crate::layout::{take_key, unique_row};
use crate::{Error, Result, Value};

impl Transaction<'_> {
    /// The document that a unique index has for a value, if it is not `key`.
    pub(crate) fn other_holder<T>(
        &mut self,
        index: &BoundIndex<T>,
        value: &Value,
        key: u64,
    ) -> Result<Option<u64>> {
        if index.kind != Kind::Unique {
            return Ok(None);
        }
        let stored = self.rows.read(&unique_row(&index.prefix, value))?;
        let holder = stored.map(take_key).transpose()?;
        Ok(holder.filter(|holder| *holder != key))
    }

    /// If another document has the value of a unique index, defers a check that only one of them has it at
    /// the end of the transaction.
    pub(super) fn check_at_end<T: Document>(
        &mut self,
        opened: &Arc<Opened<T>>,
        slot: usize,
        value: &Value,
        key: u64,
    ) -> Result<()> {
        if let Some(other) = self.other_holder(&opened.shape.indexes[slot], value, key)? {
            let (opened, value) = (Arc::clone(opened), value.clone());
            self.defer_check(move |transaction| {
                transaction.resolve_value(&opened, slot, &value, [other, key])
            });
        }
        Ok(())
    }

    /// Makes sure that at most one document has a value of a unique index, and that the index refers to it. A
    /// document that had the value and lost its entry to another one is either checked itself, or found by
    /// the check of that other one; so all are found.
    fn resolve_value<T: Document>(
        &mut self,
        opened: &Opened<T>,
        slot: usize,
        value: &Value,
        candidates: [u64; 2],
    ) -> Result<()> {
        let index = &opened.shape.indexes[slot];
        let named = self.rows.read(&unique_row(&index.prefix, value))?;
        let named = named.map(take_key).transpose()?;
        let mut holder = None;
        for key in candidates.into_iter().chain(named) {
            if holder == Some(key) || !self.has(opened, slot, value, key)? {
                continue;
            }
            if let Some(holder) = holder {
                return Err(Error::unique(UniqueConflict {
                    index: index.name.clone(),
                    value: value.to_string(),
                    key: holder,
                    other: key,
                }));
            }
            holder = Some(key);
        }
        if let (Some(holder), true) = (holder, holder != named) {
            self.insert_entry(index, value, holder);
        }
        Ok(())
    }

    /// Whether a document has a value. For an unreadable document the index is trusted.
    fn has<T: Document>(
        &mut self,
        opened: &Opened<T>,
        slot: usize,
        value: &Value,
        key: u64,
    ) -> Result<bool> {
        match self.old_document(opened, key)? {
            OldDocument::Nothing => Ok(false),
            OldDocument::Unreadable => Ok(true),
            OldDocument::Document(document) => {
                let values = opened.shape.indexes[slot].values(&document)?;
                Ok(values.contains(value))
            }
        }
    }

    /// Reads the entries of unique indexes that a document may lose in advance, many at once.
    pub(super) fn load_unique_entries<T: Document>(
        &mut self,
        shape: &Shape<T>,
        old_values: &[Values],
        new_values: &[Values],
    ) -> Result<()> {
        let mut rows = Vec::new();
        for (slot, index) in shape.indexes.iter().enumerate() {
            if index.kind == Kind::Unique {
                rows.extend(
                    missing(old_values, new_values, slot)
                        .map(|value| unique_row(&index.prefix, value)),
                );
            }
        }
        self.rows.load(&rows)
    }
}
