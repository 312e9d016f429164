//! Mending faults, each in a transaction that looks again.

use std::ops::ControlFlow;

use espalier_keyspace::Direction;

use super::examine::{examine, finding};
use super::fault::{Fault, Finding};
use crate::collection::Opened;
use crate::definition::Kind;
use crate::document::Document;
use crate::entries;
use crate::extract::Values;
use crate::layout::{State, take_key, unique_row};
use crate::limits::STEP_DOCUMENTS;
use crate::reader::Reader;
use crate::transaction::Transaction;
use crate::value::Value;
use crate::{Collection, Result};

/// What a repair did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// What was mended.
    pub mended: Vec<Finding>,
    /// What is left, as only people can decide it: documents that cannot be read, and documents
    /// that have the same value of a unique index.
    pub left: Vec<Finding>,
}

impl<T: Document> Collection<T> {
    /// Examines the collection and mends what it finds: entries of indexes without document go,
    /// entries that are missing are made, counters are counted again. Documents are not changed.
    pub fn repair(&self) -> Result<Repaired> {
        let opened = self.reopen()?;
        let faults = {
            let snapshot = self.core().snapshot(opened.shape.keys.home)?;
            examine(&opened, &*snapshot)?
        };
        for group in faults.chunks(STEP_DOCUMENTS) {
            self.core().run_alone(&mut |transaction| {
                let opened = transaction.opened_anyway(self)?;
                group
                    .iter()
                    .try_for_each(|fault| mend(transaction, &opened, fault))
            })?;
        }
        let left = self.check()?;
        let mended = faults.iter().map(|fault| finding(&opened, fault));
        let mended = mended.filter(|finding| !left.contains(finding)).collect();
        Ok(Repaired { mended, left })
    }
}

fn mend<T: Document>(
    transaction: &mut Transaction<'_>,
    opened: &Opened<T>,
    fault: &Fault,
) -> Result<()> {
    match fault {
        Fault::Unreadable { .. } | Fault::Twice { .. } => Ok(()),
        Fault::MissingEntry { slot, key, .. } => enter(transaction, opened, *slot, *key),
        Fault::StrayEntry { slot, row, .. } => remove(transaction, opened, *slot, row),
        Fault::BrokenEntry { row, .. } | Fault::NoIndex { row, .. } => {
            transaction.rows.delete(row.clone());
            Ok(())
        }
        Fault::Count { .. } | Fault::State { .. } => count_again(transaction, opened),
    }
}

fn values<T: Document>(
    transaction: &mut Transaction<'_>,
    opened: &Opened<T>,
    slot: usize,
    key: u64,
) -> Result<Values> {
    let shape = &opened.shape;
    match transaction.rows.read(&shape.keys.document(key))? {
        Some(row) => shape.indexes[slot].values(&shape.decode(key, row)?),
        None => Ok(Values::new()),
    }
}

fn enter<T: Document>(
    transaction: &mut Transaction<'_>,
    opened: &Opened<T>,
    slot: usize,
    key: u64,
) -> Result<()> {
    let index = &opened.shape.indexes[slot];
    for value in &values(transaction, opened, slot, key)? {
        if !is_taken(transaction, opened, slot, key, value)? {
            transaction.enter(index, value, key);
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
    let held = transaction.rows.read(&unique_row(&index.prefix, value))?;
    match held.and_then(|held| take_key(held).ok()) {
        Some(other) if other != key => {
            Ok(values(transaction, opened, slot, other)?.contains(value))
        }
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
    let Some(held) = transaction.rows.read(row)?.map(<[u8]>::to_vec) else {
        return Ok(());
    };
    let (short, full, key) = entries::parse(&row[index.prefix.len()..], &held, index.kind)?;
    let value = Value::stored(short, full)?;
    let is_right = if index.is_known() {
        values(transaction, opened, slot, key)?.contains(&value)
    } else {
        let document = opened.shape.keys.document(key);
        transaction.rows.read(&document)?.is_some()
    };
    if !is_right {
        transaction.rows.delete(row.to_vec());
    }
    Ok(())
}

fn count_again<T: Document>(transaction: &mut Transaction<'_>, opened: &Opened<T>) -> Result<()> {
    let keys = &opened.shape.keys;
    // Requires that nobody changes any document meanwhile.
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
