//! The repair of faults, each in a transaction that verifies it first.

use std::ops::ControlFlow;

use espalier_keyspace::Direction;

use super::fault::{Fault, Finding};
use super::find_faults::{find_faults, finding};
use crate::bound_definition::BoundIndex;
use crate::collection::Opened;
use crate::definition::Kind;
use crate::document::Document;
use crate::entries;
use crate::index_values::Values;
use crate::layout::{State, take_key, unique_row};
use crate::limits::STEP_DOCUMENTS;
use crate::row_reader::Reader;
use crate::transaction::Transaction;
use crate::value::Value;
use crate::{Collection, Result};

/// The result of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// The faults that were repaired.
    pub mended: Vec<Finding>,
    /// The faults that only people can resolve: documents that cannot be read, and documents that have the
    /// same value of a unique index.
    pub left: Vec<Finding>,
}

impl<T: Document> Collection<T> {
    /// Checks the collection and repairs what it finds: entries without a document are removed, missing
    /// entries are added, counters are recomputed, and interrupted index builds are completed. Documents are
    /// not changed.
    pub fn repair(&self) -> Result<RepairReport> {
        let opened = self.reopen()?;
        let faults = {
            let snapshot = self.core().snapshot(opened.shape.keys.storage)?;
            find_faults(&opened, &*snapshot)?
        };
        for group in faults.chunks(STEP_DOCUMENTS) {
            self.core().run_alone(&mut |transaction| {
                let opened = transaction.opened_unverified(self)?;
                group
                    .iter()
                    .try_for_each(|fault| repair_fault(transaction, &opened, fault))
            })?;
        }
        let is_unbuilt = |fault: &Fault| matches!(fault, Fault::Unbuilt { .. });
        if faults.iter().any(is_unbuilt) {
            self.build()?;
        }
        let left = self.check()?;
        let mended = faults.iter().map(|fault| finding(&opened, fault));
        let mended = mended.filter(|finding| !left.contains(finding)).collect();
        Ok(RepairReport { mended, left })
    }
}

fn repair_fault<T: Document>(
    transaction: &mut Transaction<'_>,
    opened: &Opened<T>,
    fault: &Fault,
) -> Result<()> {
    match fault {
        Fault::Unreadable { .. } | Fault::DuplicateValue { .. } | Fault::Unbuilt { .. } => Ok(()),
        Fault::MissingEntry { slot, key, .. } => enter(transaction, opened, *slot, *key),
        Fault::StrayEntry { slot, row, .. } => remove(transaction, opened, *slot, row),
        Fault::BrokenEntry { row, .. } => remove_broken(transaction, opened, row),
        Fault::UnknownIndex { row, .. } => {
            transaction.rows.delete(row.clone());
            Ok(())
        }
        Fault::Count { .. } | Fault::State { .. } => recount(transaction, opened),
    }
}

/// The values of a document in an index; empty if there is no document or it is unreadable.
fn values<T: Document>(
    transaction: &mut Transaction<'_>,
    opened: &Opened<T>,
    slot: usize,
    key: u64,
) -> Result<Option<Values>> {
    let shape = &opened.shape;
    let Some(row) = transaction.rows.read(&shape.keys.document(key))? else {
        return Ok(None);
    };
    match shape.decode(key, row) {
        Ok(document) => shape.indexes[slot].values(&document).map(Some),
        Err(error) if error.is_unreadable() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a document has a value, or is unreadable, so that this cannot be decided.
fn may_have<T: Document>(
    transaction: &mut Transaction<'_>,
    opened: &Opened<T>,
    slot: usize,
    key: u64,
    value: &Value,
) -> Result<bool> {
    match values(transaction, opened, slot, key)? {
        Some(values) => Ok(values.contains(value)),
        None => {
            let document = opened.shape.keys.document(key);
            Ok(transaction.rows.read(&document)?.is_some())
        }
    }
}

fn enter<T: Document>(
    transaction: &mut Transaction<'_>,
    opened: &Opened<T>,
    slot: usize,
    key: u64,
) -> Result<()> {
    let index = &opened.shape.indexes[slot];
    for value in &values(transaction, opened, slot, key)?.unwrap_or_default() {
        if !is_taken(transaction, opened, slot, key, value)? {
            transaction.insert_entry(index, value, key);
        }
    }
    Ok(())
}

/// Whether another document has the value of a unique index.
fn is_taken<T: Document>(
    transaction: &mut Transaction<'_>,
    opened: &Opened<T>,
    slot: usize,
    key: u64,
    value: &Value,
) -> Result<bool> {
    let index = &opened.shape.indexes[slot];
    if index.kind != Kind::Unique {
        return Ok(false);
    }
    let stored = transaction.rows.read(&unique_row(&index.prefix, value))?;
    match stored.and_then(|stored| take_key(stored).ok()) {
        Some(other) if other != key => may_have(transaction, opened, slot, other, value),
        _ => Ok(false),
    }
}

fn remove<T: Document>(
    transaction: &mut Transaction<'_>,
    opened: &Opened<T>,
    slot: usize,
    row: &[u8],
) -> Result<()> {
    let index = &opened.shape.indexes[slot];
    let Some(stored) = transaction.rows.read(row)?.map(<[u8]>::to_vec) else {
        return Ok(());
    };
    let (value, key) = parsed(index, row, &stored)?;
    let is_valid = if index.is_known() {
        may_have(transaction, opened, slot, key, &value)?
    } else {
        let document = opened.shape.keys.document(key);
        transaction.rows.read(&document)?.is_some()
    };
    if !is_valid {
        transaction.rows.delete(row.to_vec());
    }
    Ok(())
}

/// Removes an entry that cannot be read, unless it was rewritten in the meantime.
fn remove_broken<T: Document>(
    transaction: &mut Transaction<'_>,
    opened: &Opened<T>,
    row: &[u8],
) -> Result<()> {
    let id = opened.shape.keys.index_of(row)?;
    let index = opened.shape.indexes.iter().find(|index| index.id == id);
    let stored = transaction.rows.read(row)?.map(<[u8]>::to_vec);
    let is_readable = match (index, &stored) {
        (Some(index), Some(stored)) => parsed(index, row, stored).is_ok(),
        _ => false,
    };
    if !is_readable {
        transaction.rows.delete(row.to_vec());
    }
    Ok(())
}

/// The value and the document of an entry.
fn parsed<T>(index: &BoundIndex<T>, row: &[u8], stored: &[u8]) -> Result<(Value, u64)> {
    let rest = &row[index.prefix.len()..];
    let (short, full, key) = entries::parse(rest, stored, index.kind)?;
    Ok((Value::stored(short, full)?, key))
}

fn recount<T: Document>(transaction: &mut Transaction<'_>, opened: &Opened<T>) -> Result<()> {
    let keys = &opened.shape.keys;
    // Requires that no document changes before the commit.
    transaction.rows.read(&keys.sequence())?;
    transaction.rows.read(&keys.count())?;
    let stored = transaction.rows.read(&keys.state())?;
    let stored = stored.and_then(|stored| State::decode(stored).ok());
    let (mut counted, mut next) = (0_i64, stored.map_or(0, |stored| stored.next));
    let range = keys.documents(0, None);
    transaction
        .rows
        .scan(&range, Direction::Forward, &mut |row, _| {
            if let Some(key) = keys.document_key(row) {
                counted += 1;
                next = next.max(key + 1);
            }
            Ok(ControlFlow::Continue(()))
        })?;
    let generation = opened.shape.generation;
    transaction
        .rows
        .put(keys.count(), counted.to_le_bytes().to_vec());
    let state = State { generation, next };
    transaction.rows.put(keys.state(), state.encode());
    transaction
        .rows
        .put(keys.generation(), generation.to_le_bytes().to_vec());
    Ok(())
}
