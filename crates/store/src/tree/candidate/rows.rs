//! The stored rows of a candidate's changes.
//!
//! | key after the candidate's prefix | value |
//! |---|---|
//! | `00` | the [header](super::header) |
//! | `01`, subspace, the rest of a key of running | the new and the old value |
//! | `02`, subspace, the rest of the start of a deleted range | a byte for the end: none, or its subspace and rest |
//! | `03`, subspace, the rest of a key of running | its value: entries of lists ordered by user with changed content, and their positions |

use espalier_keyspace::{Batch, Direction, KeyRange, Snapshot, tuple};

use crate::error::{Error, Result};
use crate::fragment::{put_varint, take_varint};
use crate::keys::{TreeId, anchor_prefix};
use crate::overlay::Changes;
use crate::subspace::Subspace;
use crate::tree::Datastore;

const HEADER: u8 = 0;
const WRITTEN: u8 = 1;
const CLEARED: u8 = 2;
const POSITION: u8 = 3;

/// Whether a key has a value.
const ABSENT: u8 = 0;
const PRESENT: u8 = 1;

// Changes in place of a copy of running: docs/decisions/0025.
/// The key layout of one candidate's rows.
pub(super) struct Rows {
    prefix: Vec<u8>,
    /// The tree that the candidate is based on.
    tree: TreeId,
}

impl Rows {
    /// The rows of a candidate of a tree; a private one belongs to a session.
    pub fn of(tree: TreeId, datastore: Datastore, session: &str) -> Self {
        let mut prefix = anchor_prefix(Subspace::Candidate, tree.anchor);
        prefix.push(datastore.id());
        if datastore == Datastore::PrivateCandidate {
            tuple::put_bytes(&mut prefix, session.as_bytes());
        }
        Self { prefix, tree }
    }

    /// The prefix of all rows of the candidate.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    fn kind(&self, kind: u8) -> Vec<u8> {
        let mut key = self.prefix.clone();
        key.push(kind);
        key
    }

    /// The key of the header.
    pub fn header(&self) -> Vec<u8> {
        self.kind(HEADER)
    }

    /// All rows except the header.
    pub fn changes(&self) -> KeyRange {
        KeyRange {
            start: self.kind(WRITTEN),
            end: KeyRange::prefix(&self.kind(POSITION)).end,
        }
    }

    /// The length of the tree's prefix in a key of running.
    fn prefix_length(&self) -> usize {
        self.tree.prefix(Subspace::Tree).len()
    }

    fn row(&self, kind: u8, key: &[u8]) -> Vec<u8> {
        let mut row = self.kind(kind);
        row.extend_from_slice(&self.suffix(key));
        row
    }

    /// A key of running without the common tree prefix.
    fn suffix(&self, key: &[u8]) -> Vec<u8> {
        let mut suffix = vec![key[0]];
        suffix.extend_from_slice(key.get(self.prefix_length()..).unwrap_or_default());
        suffix
    }

    fn full_key(&self, suffix: &[u8]) -> Result<Vec<u8>> {
        let (&subspace, rest) = suffix
            .split_first()
            .ok_or_else(|| Error::corrupt("a row of a candidate names no key"))?;
        let mut key = self.tree.prefix(Subspace::Tree);
        key[0] = subspace;
        key.extend_from_slice(rest);
        Ok(key)
    }

    /// Puts a changed key, with its old value in the base.
    pub fn put_written(
        &self,
        batch: &mut Batch,
        key: &[u8],
        old: Option<&[u8]>,
        new: Option<&[u8]>,
    ) {
        let mut value = Vec::new();
        for held in [new, old] {
            match held {
                None => value.push(ABSENT),
                Some(held) => {
                    value.push(PRESENT);
                    put_varint(&mut value, held.len() as u64);
                    value.extend_from_slice(held);
                }
            }
        }
        batch.put(self.row(WRITTEN, key), value);
    }

    /// Deletes the row of a key.
    pub fn discard_written(&self, batch: &mut Batch, key: &[u8]) {
        batch.delete(self.row(WRITTEN, key));
    }

    /// Deletes the rows of the keys in a range, which lies in one subspace of the tree.
    pub fn forget_written_in(&self, batch: &mut Batch, range: &KeyRange) {
        let end = match self.end_of(range) {
            Some(end) => self.row(WRITTEN, end),
            None => {
                let mut all = self.kind(WRITTEN);
                all.push(range.start[0]);
                KeyRange::prefix(&all).end.unwrap_or_default()
            }
        };
        batch.delete_range(KeyRange::new(self.row(WRITTEN, &range.start), end));
    }

    /// The end of a range if it is a key of the tree; none if it is the end of the tree.
    fn end_of<'r>(&self, range: &'r KeyRange) -> Option<&'r [u8]> {
        let prefix_length = self.prefix_length();
        let end = range.end.as_deref()?;
        end.starts_with(range.start.get(..prefix_length)?)
            .then_some(end)
    }

    /// Puts a deleted range.
    pub fn put_cleared(&self, batch: &mut Batch, range: &KeyRange) {
        let end = self.end_of(range);
        let value = end.map_or(vec![ABSENT], |end| [&[PRESENT], end].concat());
        batch.put(self.row(CLEARED, &range.start), value);
    }

    /// Deletes the row of a deleted range.
    pub fn discard_cleared(&self, batch: &mut Batch, range: &KeyRange) {
        batch.delete(self.row(CLEARED, &range.start));
    }

    /// Puts a row that identifies the entry at a position.
    pub fn put_position(&self, batch: &mut Batch, key: &[u8], held: &[u8]) {
        batch.put(self.row(POSITION, key), held.to_vec());
    }

    /// Reads all changes.
    pub fn read(&self, snapshot: &dyn Snapshot) -> Result<Changes> {
        let mut changes = Changes::default();
        let (written, cleared) = (self.kind(WRITTEN), self.kind(CLEARED));
        let range = KeyRange::prefix(&cleared);
        let mut cursor = snapshot.scan(&range, Direction::Forward)?;
        while let Some((row, value)) = cursor.next()? {
            let start = self.full_key(&row[cleared.len()..])?;
            let end = match value.split_first() {
                Some((&PRESENT, end)) => Some(end.to_vec()),
                Some((&ABSENT, [])) => {
                    KeyRange::prefix(&start[..self.prefix_length().min(start.len())]).end
                }
                _ => return Err(damaged()),
            };
            changes.delete_range(&KeyRange { start, end });
        }
        let range = KeyRange::prefix(&written);
        let mut cursor = snapshot.scan(&range, Direction::Forward)?;
        while let Some((row, value)) = cursor.next()? {
            let key = self.full_key(&row[written.len()..])?;
            match take_value(&mut &*value)? {
                Some(new) => changes.put(key, new),
                None => changes.delete(key),
            }
        }
        Ok(changes)
    }

    /// The old values of the changed keys, and the saved positions of entries.
    pub fn read_old(&self, snapshot: &dyn Snapshot) -> Result<Changes> {
        let mut old = Changes::default();
        let position = self.kind(POSITION);
        let range = KeyRange::prefix(&position);
        let mut cursor = snapshot.scan(&range, Direction::Forward)?;
        while let Some((row, held)) = cursor.next()? {
            old.put(self.full_key(&row[position.len()..])?, held.to_vec());
        }
        let written = self.kind(WRITTEN);
        let range = KeyRange::prefix(&written);
        let mut cursor = snapshot.scan(&range, Direction::Forward)?;
        while let Some((row, mut value)) = cursor.next()? {
            let key = self.full_key(&row[written.len()..])?;
            take_value(&mut value)?;
            match take_value(&mut value)? {
                Some(held) => old.put(key, held),
                None => old.delete(key),
            }
        }
        Ok(old)
    }
}

fn take_value(value: &mut &[u8]) -> Result<Option<Vec<u8>>> {
    let (&tag, rest) = value.split_first().ok_or_else(damaged)?;
    *value = rest;
    if tag == ABSENT {
        return Ok(None);
    }
    let length = usize::try_from(take_varint(value)?).map_err(|_| damaged())?;
    let held = value.split_off(..length).ok_or_else(damaged)?;
    Ok(Some(held.to_vec()))
}

fn damaged() -> Error {
    Error::corrupt("a row of a candidate does not decode")
}
