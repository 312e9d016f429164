//! The target of a transfer: writes rows in chunks, protected by a marker.

use std::cmp::Ordering;

use espalier_keyspace::{Batch, Driver, ErrorKind, KeyRange, Operation, retry_too_old};

use super::digest::{Digest, Digester};
use super::marker::Marker;
use super::rows::{Row, Rows, Scanned};
use super::{ExistingRows, Phase, Progress};
use crate::error::{Error, Result};

/// Rows of a chunk, for engines that take batches of any size.
const CHUNK_ROWS: usize = 10_000;

/// Bytes of a chunk, for the same engines.
const CHUNK_BYTES: usize = 4 << 20;

/// Bytes of a chunk for engines that stage large batches: below the limit of one of their transactions.
const CHUNK_BYTES_STAGED: usize = 512 << 10;

/// Operations of a transaction that are reserved for an engine that stages large batches, and for the marker.
const OPERATIONS_RESERVED: usize = 8;

/// How often the target is read back if its snapshots become too old.
const VERIFY_TRIES_MAX: usize = 5;

/// The progress is reported after this many rows.
const PROGRESS_EVERY: u64 = 1024;

/// The target of a transfer in progress.
pub(super) struct Target<'a> {
    driver: &'a dyn Driver,
    marker: Marker,
    /// The marker as it is stored in the target.
    stored: Vec<u8>,
    pub(super) is_resumed: bool,
    operations_max: usize,
    bytes_max: usize,
}

impl<'a> Target<'a> {
    /// Writes the marker to the target, or finds that of an interrupted run of the same transfer. `is_source`
    /// returns whether the source has a marker now as well: then source and target are the same.
    pub(super) fn begin(
        driver: &'a dyn Driver,
        from: &str,
        version: u64,
        existing: ExistingRows,
        is_source: &dyn Fn() -> Result<bool>,
    ) -> Result<Self> {
        let capability = driver.capability();
        let mut target = Self {
            driver,
            marker: Marker::new(from, version),
            stored: Vec::new(),
            is_resumed: false,
            operations_max: CHUNK_ROWS,
            bytes_max: CHUNK_BYTES,
        };
        if let Some(max) = capability.operations_max {
            target.operations_max = max.saturating_sub(OPERATIONS_RESERVED).max(1);
            target.bytes_max = CHUNK_BYTES_STAGED;
        }
        let snapshot = driver.snapshot()?;
        let found = Marker::read(&*snapshot)?;
        let is_empty = Scanned::all(&*snapshot)?.next()?.is_none();
        drop(snapshot);
        match found {
            Some(marker) if marker.from == from => target.resume(marker, version)?,
            Some(marker) if existing == ExistingRows::Reject => {
                return Err(Error::Unfinished { from: marker.from });
            }
            None if existing == ExistingRows::Reject && !is_empty => return Err(Error::NotEmpty),
            found => {
                let stored = found.map(|marker| marker.value());
                target.put_marker(stored, Vec::new())?;
                if is_source()? {
                    target.remove_marker()?;
                    return Err(Error::SameEngine);
                }
                target.clear()?;
            }
        }
        Ok(target)
    }

    fn resume(&mut self, marker: Marker, version: u64) -> Result<()> {
        self.stored = marker.value();
        self.is_resumed = true;
        let is_same = marker.version == version;
        self.marker = marker;
        if !is_same {
            self.marker.restart(version);
            self.put_marker(Some(self.stored.clone()), Vec::new())?;
        }
        Ok(())
    }

    /// Commits operations together with the marker, which must be unchanged since the last commit.
    fn put_marker(&mut self, stored: Option<Vec<u8>>, operations: Vec<Operation>) -> Result<()> {
        let mut batch = Batch::new();
        batch.require(Marker::key(), stored);
        operations
            .into_iter()
            .for_each(|operation| batch.push(operation));
        let value = self.marker.value();
        batch.put(Marker::key(), value.clone());
        self.commit(batch)?;
        self.stored = value;
        Ok(())
    }

    fn commit(&self, batch: Batch) -> Result<()> {
        match self.driver.commit(batch) {
            Err(error) if error.kind() == ErrorKind::Conflict => Err(Error::Interfered),
            result => Ok(result.map(drop)?),
        }
    }

    fn remove_marker(&self) -> Result<()> {
        let mut batch = Batch::new();
        batch.require(Marker::key(), Some(self.stored.clone()));
        batch.delete(Marker::key());
        self.commit(batch)
    }

    /// Deletes everything except the marker.
    fn clear(&mut self) -> Result<()> {
        let key = Marker::key();
        let after = [&key[..], &[0]].concat();
        let ranges = [
            KeyRange::new(Vec::new(), key),
            KeyRange {
                start: after,
                end: None,
            },
        ];
        let operations = ranges.map(Operation::DeleteRange).to_vec();
        self.put_marker(Some(self.stored.clone()), operations)
    }

    /// Writes all rows that are not there yet; returns their digest, and how many rows were written or
    /// removed.
    pub(super) fn write_rows(
        &mut self,
        rows: &mut dyn Rows,
        progress: Progress<'_>,
    ) -> Result<(Digest, u64)> {
        let mut digester = Digester::default();
        let (mut chunk, mut bytes, mut changed) = (Vec::new(), 0, 0);
        let mut after = self.marker.after()?;
        while let Some((key, value)) = rows.next()? {
            digester.update(key, value);
            if digester.rows().is_multiple_of(PROGRESS_EVERY) {
                progress(Phase::Copying, digester.rows());
            }
            if key <= after.as_slice() {
                continue;
            }
            bytes += key.len() + value.len();
            chunk.push((key.to_vec(), value.to_vec()));
            if chunk.len() >= self.operations_max || bytes >= self.bytes_max {
                let last = chunk.last().map(|(key, _)| key.clone());
                changed += self.store(&after, std::mem::take(&mut chunk), last.as_deref())?;
                after = last.unwrap_or_default();
                bytes = 0;
            }
        }
        changed += self.store(&after, chunk, None)?;
        Ok((digester.finish(), changed))
    }

    /// Replaces the target's rows after one key, up to another or to the end, with these rows.
    fn store(&mut self, after: &[u8], rows: Vec<Row>, last: Option<&[u8]>) -> Result<u64> {
        let mut operations = match self.marker.is_over_older() {
            true => self.differences(after, rows, last)?,
            false => rows.into_iter().map(put).collect(),
        };
        let changed = operations.len() as u64;
        while !operations.is_empty() {
            let rest = operations.split_off(self.fitting_len(&operations));
            let last_key = operations
                .last()
                .map(|operation| key_of(operation).to_vec());
            self.marker.set_after(&last_key.unwrap_or_default());
            self.put_marker(Some(self.stored.clone()), operations)?;
            operations = rest;
        }
        Ok(changed)
    }

    /// How many of the operations fit into one batch: at least one.
    fn fitting_len(&self, operations: &[Operation]) -> usize {
        let mut bytes = 0;
        let within = operations
            .iter()
            .take(self.operations_max)
            .take_while(|operation| {
                bytes += operation.as_ref().bytes();
                bytes <= self.bytes_max
            });
        within.count().max(1)
    }

    /// The operations that make the target's rows equal to the given ones, in key order.
    fn differences(
        &self,
        after: &[u8],
        rows: Vec<Row>,
        last: Option<&[u8]>,
    ) -> Result<Vec<Operation>> {
        let just_after = |key: &[u8]| [key, &[0]].concat();
        let range = KeyRange {
            start: if after.is_empty() {
                Vec::new()
            } else {
                just_after(after)
            },
            end: last.map(just_after),
        };
        let snapshot = self.driver.snapshot()?;
        let mut stored = Scanned::range(&*snapshot, &range)?;
        let mut existing = stored.next()?;
        let mut operations = Vec::new();
        for row in rows {
            while let Some((key, _)) = existing.filter(|(key, _)| *key < row.0.as_slice()) {
                operations.push(Operation::Delete { key: key.to_vec() });
                existing = stored.next()?;
            }
            match existing.map(|(key, value)| (key.cmp(&row.0), value == row.1)) {
                Some((Ordering::Equal, is_same)) => {
                    if !is_same {
                        operations.push(put(row));
                    }
                    existing = stored.next()?;
                }
                _ => operations.push(put(row)),
            }
        }
        while let Some((key, _)) = existing {
            operations.push(Operation::Delete { key: key.to_vec() });
            existing = stored.next()?;
        }
        Ok(operations)
    }

    /// Reads the target back and compares it with the expected digest, then removes the marker.
    pub(super) fn finish(mut self, expected: &Digest, progress: Progress<'_>) -> Result<()> {
        let found = self.read_back(progress)?;
        if found != *expected {
            // The next run compares row by row.
            self.marker.restart(self.marker.version);
            self.put_marker(Some(self.stored.clone()), Vec::new())?;
            return Err(Error::Differs {
                expected: expected.to_string(),
                found: found.to_string(),
            });
        }
        match self.remove_marker() {
            // The data is complete without it, as just verified.
            Err(Error::Engine(error))
                if error.kind() == ErrorKind::OutcomeUnknown && !self.has_marker()? => {}
            result => result?,
        }
        Ok(self.driver.flush()?)
    }

    fn has_marker(&self) -> Result<bool> {
        let snapshot = self.driver.snapshot()?;
        Ok(Marker::read(&*snapshot)?.is_some())
    }

    fn read_back(&self, progress: Progress<'_>) -> Result<Digest> {
        retry_too_old(VERIFY_TRIES_MAX, || digest(self.driver, progress))
    }
}

fn digest(driver: &dyn Driver, progress: Progress<'_>) -> Result<Digest> {
    let snapshot = driver.snapshot()?;
    let mut rows = Scanned::all(&*snapshot)?;
    let mut digester = Digester::default();
    while let Some((key, value)) = rows.next()? {
        digester.update(key, value);
        if digester.rows().is_multiple_of(PROGRESS_EVERY) {
            progress(Phase::Verifying, digester.rows());
        }
    }
    Ok(digester.finish())
}

fn put((key, value): Row) -> Operation {
    Operation::Put { key, value }
}

fn key_of(operation: &Operation) -> &[u8] {
    match operation {
        Operation::Put { key, .. } | Operation::Delete { key } | Operation::Add { key, .. } => key,
        Operation::DeleteRange(range) => &range.start,
    }
}
