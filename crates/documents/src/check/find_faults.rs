//! Finds faults in a snapshot.

use std::ops::ControlFlow;

use espalier_keyspace::{Direction, Snapshot};

use super::fault::{Fault, Finding};
use crate::collection::Opened;
use crate::definition::Kind;
use crate::document::Document;
use crate::entries;
use crate::layout::{
    State, number, shared_entry_value, shared_row, take_key, unique_entry_value, unique_row,
};
use crate::row_reader::{Reader, View};
use crate::value::Value;
use crate::{Collection, Result};

/// The maximum number of faults that one check reports.
const FAULTS_MAX: usize = 10_000;

impl<T: Document> Collection<T> {
    /// Checks every document and every index entry in one snapshot, and returns the inconsistencies (at most
    /// 10,000).
    pub fn check(&self) -> Result<Vec<Finding>> {
        let opened = self.reopen()?;
        let snapshot = self.core().snapshot(opened.shape.keys.storage)?;
        let faults = find_faults(&opened, &*snapshot)?;
        Ok(faults.iter().map(|fault| finding(&opened, fault)).collect())
    }
}

/// Finds the faults of a snapshot.
pub(super) fn find_faults<T: Document>(
    opened: &Opened<T>,
    snapshot: &dyn Snapshot,
) -> Result<Vec<Fault>> {
    let mut examination = Examination {
        opened,
        snapshot,
        faults: Vec::new(),
    };
    examination.unbuilt();
    let (counted, last) = examination.documents()?;
    examination.entries()?;
    examination.counters(counted, last)?;
    Ok(examination.faults)
}

struct Examination<'a, T> {
    opened: &'a Opened<T>,
    snapshot: &'a dyn Snapshot,
    faults: Vec<Fault>,
}

impl<T: Document> Examination<'_, T> {
    fn flow(&self) -> ControlFlow<()> {
        if self.faults.len() < FAULTS_MAX {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }

    fn unbuilt(&mut self) {
        let indexes = self.opened.shape.indexes.iter().enumerate();
        let unbuilt = indexes.filter(|(_, index)| !index.is_built);
        let faults = unbuilt.map(|(slot, _)| Fault::Unbuilt { slot });
        self.faults.extend(faults);
    }

    /// The number of documents, and the largest key.
    fn documents(&mut self) -> Result<(u64, Option<u64>)> {
        let keys = &self.opened.shape.keys;
        let (mut counted, mut last) = (0, None);
        let range = keys.documents(0, None);
        View(self.snapshot).scan(&range, Direction::Forward, &mut |row, stored| {
            if let Some(key) = keys.document_key(row) {
                counted += 1;
                last = Some(key);
                self.document(key, stored)?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok((counted, last))
    }

    fn document(&mut self, key: u64, stored: &[u8]) -> Result<()> {
        let shape = &self.opened.shape;
        let document = match shape.decode(key, stored) {
            Ok(document) => document,
            Err(error) => {
                let reason = error.to_string();
                self.faults.push(Fault::Unreadable { key, reason });
                return Ok(());
            }
        };
        for (slot, index) in shape.indexes.iter().enumerate() {
            if !index.is_built || !index.is_known() {
                continue;
            }
            let values = match index.values(&document) {
                Ok(values) => values,
                Err(error) => {
                    let reason = error.to_string();
                    self.faults.push(Fault::Unreadable { key, reason });
                    continue;
                }
            };
            for value in &values {
                let (row, expected) = match index.kind {
                    Kind::Unique => (
                        unique_row(&index.prefix, value),
                        unique_entry_value(value, key),
                    ),
                    _ => (
                        shared_row(&index.prefix, value, key),
                        shared_entry_value(value),
                    ),
                };
                let stored = self.snapshot.get(&row)?;
                if stored.as_deref() != Some(expected.as_slice()) && self.flow().is_continue() {
                    let fault = self.missing(slot, key, value, stored.as_deref());
                    self.faults.push(fault);
                }
            }
        }
        Ok(())
    }

    fn missing(&self, slot: usize, key: u64, value: &Value, stored: Option<&[u8]>) -> Fault {
        let index = &self.opened.shape.indexes[slot];
        let other = stored.and_then(|stored| take_key(stored).ok());
        let value_text = value.to_string();
        match other {
            Some(other)
                if index.kind == Kind::Unique
                    && other != key
                    && self.may_have(slot, other, value) =>
            {
                Fault::DuplicateValue {
                    slot,
                    key,
                    other,
                    value: value_text,
                }
            }
            _ => Fault::MissingEntry {
                slot,
                key,
                value: value_text,
            },
        }
    }

    /// Whether a document has a value, or is unreadable, so that this cannot be decided.
    fn may_have(&self, slot: usize, key: u64, value: &Value) -> bool {
        let shape = &self.opened.shape;
        let row = self.snapshot.get(&shape.keys.document(key));
        let Some(row) = row.ok().flatten() else {
            return false;
        };
        let document = shape.decode(key, &row).ok();
        let values = document.map(|document| shape.indexes[slot].values(&document));
        values.is_none_or(|values| values.is_ok_and(|values| values.contains(value)))
    }

    fn entries(&mut self) -> Result<()> {
        let keys = &self.opened.shape.keys;
        View(self.snapshot).scan(
            &keys.all_indexes(),
            Direction::Forward,
            &mut |row, stored| {
                self.entry(row, stored)?;
                Ok(self.flow())
            },
        )
    }

    fn entry(&mut self, row: &[u8], stored: &[u8]) -> Result<()> {
        let shape = &self.opened.shape;
        let id = shape.keys.index_of(row)?;
        let Some(slot) = shape.indexes.iter().position(|index| index.id == id) else {
            let row = row.to_vec();
            self.faults.push(Fault::UnknownIndex { row, id });
            return Ok(());
        };
        let index = &shape.indexes[slot];
        let parsed = entries::parse(&row[index.prefix.len()..], stored, index.kind)
            .and_then(|(short, full, key)| Ok((Value::stored(short, full)?, key)));
        let (value, key) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                let (row, reason) = (row.to_vec(), error.to_string());
                self.faults.push(Fault::BrokenEntry { row, reason });
                return Ok(());
            }
        };
        let is_valid = if index.is_known() {
            self.may_have(slot, key, &value)
        } else {
            self.snapshot.get(&shape.keys.document(key))?.is_some()
        };
        if !is_valid {
            let row = row.to_vec();
            self.faults.push(Fault::StrayEntry { slot, row, key });
        }
        Ok(())
    }

    fn counters(&mut self, counted: u64, last: Option<u64>) -> Result<()> {
        let shape = &self.opened.shape;
        let stored = self.snapshot.get(&shape.keys.count())?;
        let stored = stored.map_or(Some(0), |stored| number(&stored).ok());
        if stored != Some(counted) {
            self.faults.push(Fault::Count { stored, counted });
        }
        let state = self.snapshot.get(&shape.keys.state())?;
        let state = state.and_then(|state| State::decode(&state).ok());
        let lowest = last.map_or(0, |last| last + 1);
        let right = State {
            generation: shape.generation,
            next: state.map_or(lowest, |state| state.next.max(lowest)),
        };
        let generation = self.snapshot.get(&shape.keys.generation())?;
        let generation = generation.and_then(|row| number(&row).ok());
        if state != Some(right) || generation != Some(shape.generation) {
            let stored = state.filter(|_| generation.is_some());
            self.faults.push(Fault::State { stored, right });
        }
        Ok(())
    }
}

/// Describes a fault for people.
pub(super) fn finding<T: Document>(opened: &Opened<T>, fault: &Fault) -> Finding {
    let shape = &opened.shape;
    let name = &shape.name;
    let index = |slot: &usize| &shape.indexes[*slot].name;
    let (place, problem) = match fault {
        Fault::Unreadable { key, reason } => (format!("{name} document {key}"), reason.clone()),
        Fault::Unbuilt { slot } => (
            format!("{name} index {:?}", index(slot)),
            "it is not built; if no build is running, the build was interrupted".to_owned(),
        ),
        Fault::MissingEntry { slot, key, value } => (
            format!("{name} index {:?}", index(slot)),
            format!("document {key} has the value {value}, which is missing in the index"),
        ),
        Fault::DuplicateValue {
            slot,
            key,
            other,
            value,
        } => (
            format!("{name} index {:?}", index(slot)),
            format!(
                "the index is unique, but documents {other} and {key} both have the value {value}"
            ),
        ),
        Fault::StrayEntry { slot, key, .. } => (
            format!("{name} index {:?}", index(slot)),
            format!("an entry refers to document {key}, which does not exist or has another value"),
        ),
        Fault::BrokenEntry { reason, .. } => (format!("{name} indexes"), reason.clone()),
        Fault::UnknownIndex { id, .. } => (
            format!("{name} indexes"),
            format!("an entry belongs to the unknown index number {id}"),
        ),
        Fault::Count { stored, counted } => (
            format!("{name} count"),
            match stored {
                Some(stored) => {
                    format!("the stored count is {stored}, but there are {counted} documents")
                }
                None => "the counter of documents is not a number".to_owned(),
            },
        ),
        Fault::State { stored, right } => (
            format!("{name} state"),
            match stored {
                Some(stored) if stored.generation == right.generation => format!(
                    "the next key is {}, but there are documents up to {}",
                    stored.next,
                    right.next.saturating_sub(1)
                ),
                Some(_) => "its generation is not that of the definition".to_owned(),
                None => "the row is missing or cannot be read".to_owned(),
            },
        ),
    };
    Finding { place, problem }
}
