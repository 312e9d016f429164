//! The file engine without Espalier: a map in memory, and a file that each commit is appended to.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::ops::Bound;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use espalier_keyspace::{Direction, KeyRange, Operation, counter};

use super::client::RawEngine;
use super::contents::Contents;
use crate::engine::Durability;
use crate::recorder::{ReadStep, Trace};
use espalier_terminal::Result;

/// The map and the file.
pub struct Journal {
    state: Mutex<State>,
    durability: Durability,
}

struct State {
    file: File,
    map: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Journal {
    /// Creates an empty file.
    pub fn create(file: &Path, durability: Durability) -> Result<Self> {
        let file = OpenOptions::new()
            .create_new(true)
            .append(true)
            .open(file)?;
        let map = BTreeMap::new();
        Ok(Self {
            state: Mutex::new(State { file, map }),
            durability,
        })
    }

    /// Ignores poisoning: the state is consistent between commits, and a failed commit ends the bench.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, state: &mut State, bytes: &[u8]) -> Result<()> {
        state.file.write_all(bytes)?;
        if self.durability == Durability::Durable {
            state.file.sync_data()?;
        }
        Ok(())
    }
}

impl RawEngine for Journal {
    fn load(&self, contents: &Contents) -> Result<()> {
        let mut state = self.state();
        let mut bytes = Vec::with_capacity(contents.bytes());
        for (key, value) in contents.iter() {
            append_entry(&mut bytes, key, value);
            state.map.insert(key.to_vec(), value.to_vec());
        }
        self.append(&mut state, &bytes)
    }

    fn replay(&self, trace: &Trace) -> Result<usize> {
        let mut state = self.state();
        let mut bytes = 0;
        for step in &trace.reads {
            bytes += match step {
                ReadStep::Get(key) => state.map.get(key).map_or(0, Vec::len),
                ReadStep::GetMany(keys) => {
                    let values = keys.iter().filter_map(|key| state.map.get(key));
                    values.map(Vec::len).sum()
                }
                ReadStep::Scan(range, direction, count) => {
                    let found = state.map.range::<[u8], _>(bounds(range));
                    match direction {
                        Direction::Forward => sum(found.take(*count)),
                        Direction::Backward => sum(found.rev().take(*count)),
                    }
                }
            };
        }
        for operations in &trace.commits {
            let mut written = Vec::new();
            for operation in operations {
                apply(&mut state.map, operation, &mut written);
            }
            self.append(&mut state, &written)?;
        }
        Ok(bytes)
    }
}

fn append_entry(bytes: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    bytes.extend((key.len() as u32).to_le_bytes());
    bytes.extend((value.len() as u32).to_le_bytes());
    bytes.extend(key);
    bytes.extend(value);
}

fn apply(map: &mut BTreeMap<Vec<u8>, Vec<u8>>, operation: &Operation, written: &mut Vec<u8>) {
    match operation {
        Operation::Put { key, value } => {
            append_entry(written, key, value);
            map.insert(key.clone(), value.clone());
        }
        Operation::Delete { key } => {
            append_entry(written, key, &[]);
            map.remove(key);
        }
        Operation::DeleteRange(range) => {
            append_entry(
                written,
                &range.start,
                range.end.as_deref().unwrap_or_default(),
            );
            let deleted = map.range::<[u8], _>(bounds(range));
            let deleted: Vec<_> = deleted.map(|(key, _)| key.clone()).collect();
            for key in deleted {
                map.remove(&key);
            }
        }
        Operation::Add { key, delta } => {
            append_entry(written, key, &delta.to_le_bytes());
            let current = map.get(key).map(Vec::as_slice);
            if let Ok(sum) = counter::add(key, current, *delta) {
                map.insert(key.clone(), sum.to_vec());
            }
        }
    }
}

fn bounds(range: &KeyRange) -> (Bound<&[u8]>, Bound<&[u8]>) {
    // The map panics at a range that ends before it begins.
    let end = match &range.end {
        Some(end) if *end < range.start => Bound::Excluded(range.start.as_slice()),
        Some(end) => Bound::Excluded(end.as_slice()),
        None => Bound::Unbounded,
    };
    (Bound::Included(range.start.as_slice()), end)
}

fn sum<'a>(found: impl Iterator<Item = (&'a Vec<u8>, &'a Vec<u8>)>) -> usize {
    found.map(|(key, value)| key.len() + value.len()).sum()
}
