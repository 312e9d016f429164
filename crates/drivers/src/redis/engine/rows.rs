//! Decodes the rows in replies of scripts: lists of keys, of values with their stamps, and of runs.

use std::collections::HashMap;

use espalier_keyspace::{Direction, KeyRange, Result, Version};
use redis::Value;

use super::batch::RUN_ROWS_MAX;
use super::connection::{Reply, bytes};
use super::error::unexpected_reply;
use super::msgpack::Strings;
use super::names::key_of_undo_member;
use crate::page::Page;

// The version in front shows a reader whether the value is old enough: docs/decisions/0033.
/// Bytes of the stamp: the version that wrote a value or a run, stored in front of it.
const STAMP_BYTES: usize = 8;

/// The bit of the stamp that is set for a run.
const RUN: u64 = 1 << 63;

/// Bytes of the number of rows of a run, stored before its first key.
const COUNT_BYTES: usize = 4;

/// Splits a stored value into its version and the value.
pub(crate) fn split_stamp(stored: &[u8]) -> Result<(Version, &[u8])> {
    let (stamp, value) = stored
        .split_first_chunk::<STAMP_BYTES>()
        .ok_or_else(unexpected_reply)?;
    Ok((Version(u64::from_be_bytes(*stamp)), value))
}

/// Removes the stamp of a stored value.
pub(crate) fn without_stamp(mut stored: Vec<u8>) -> Result<Vec<u8>> {
    if stored.len() < STAMP_BYTES {
        return Err(unexpected_reply());
    }
    stored.drain(..STAMP_BYTES);
    Ok(stored)
}

/// Stored values in several lists.
pub(crate) struct StoredValues(Vec<Vec<u8>>);

impl StoredValues {
    pub(crate) fn of(lists: Vec<Value>) -> Result<Self> {
        let lists = lists.into_iter();
        let lists = lists.map(|list| bytes(list)?.ok_or_else(unexpected_reply));
        lists.collect::<Result<_>>().map(Self)
    }

    /// Calls `take` with each stored value; `None` if a key has none.
    pub(crate) fn each(&self, mut take: impl FnMut(Option<&[u8]>) -> Result<()>) -> Result<()> {
        for list in &self.0 {
            Strings::of(list)?.try_for_each(|value| take(value?))?;
        }
        Ok(())
    }
}

/// The runs in which to look up keys that have no row of their own.
#[derive(Default)]
pub(crate) struct RunLookup {
    /// The rows of each run, by the index of the first requested key in it.
    lists: HashMap<u64, Vec<u8>>,
    /// For each other requested key, by its index: the index of the first requested key in the same run.
    same: HashMap<u64, u64>,
}

impl RunLookup {
    /// Reads a list of indexes, each followed by the rows of a run, or by the index of an earlier key of that run.
    pub(crate) fn of(reply: Vec<Value>) -> Result<Self> {
        let mut all = Self::default();
        let mut parts = reply.into_iter();
        while let Some(index) = parts.next() {
            match (index, parts.next()) {
                (Value::Int(index), Some(Value::BulkString(list))) => {
                    all.lists.insert(index.cast_unsigned(), list);
                }
                (Value::Int(index), Some(Value::Int(first))) => {
                    all.same
                        .insert(index.cast_unsigned(), first.cast_unsigned());
                }
                _ => return Err(unexpected_reply()),
            }
        }
        Ok(all)
    }

    /// Looks up the requested key with this index.
    pub(crate) fn find(&self, index: usize, key: &[u8]) -> Result<Option<&[u8]>> {
        let index = index as u64;
        let first = self.same.get(&index).copied().unwrap_or(index);
        let Some(list) = self.lists.get(&first) else {
            return Ok(None);
        };
        let mut strings = Strings::of(list)?;
        while let Some(found) = strings.next() {
            let value = strings.next().transpose()?.flatten();
            if found? == Some(key) {
                return value.map(Some).ok_or_else(unexpected_reply);
            }
        }
        Ok(None)
    }
}

/// The newest rows of a range.
pub(crate) struct NewestRows {
    keys: Vec<u8>,
    values: StoredValues,
    /// The rows of the keys that are runs.
    runs: Vec<Value>,
}

impl NewestRows {
    /// Reads the next three fields of a reply.
    pub(crate) fn take(reply: &mut Reply) -> Result<Self> {
        Ok(Self {
            keys: reply.bytes()?.ok_or_else(unexpected_reply)?,
            values: StoredValues::of(reply.list()?)?,
            runs: reply.list()?,
        })
    }

    /// Calls `take` with each row and the version that wrote it, in the direction in which the keys are.
    pub(crate) fn each(
        &self,
        direction: Direction,
        mut take: impl FnMut(&[u8], Version, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut keys = Strings::of(&self.keys)?;
        let mut runs = self.runs.iter();
        self.values.each(|stored| {
            let key = keys.next().transpose()?.flatten();
            let (Some(key), Some(stored)) = (key, stored) else {
                return Err(unexpected_reply());
            };
            let (Version(since), value) = split_stamp(stored)?;
            if since & RUN == 0 {
                return take(key, Version(since), value);
            }
            let since = Version(since & !RUN);
            let Some(Value::BulkString(list)) = runs.next() else {
                return Err(unexpected_reply());
            };
            let run = run(list)?;
            let mut each = |row: &Row<'_>| take(row.0, since, row.1);
            match direction {
                Direction::Forward => run.iter().try_for_each(&mut each),
                Direction::Backward => run.iter().rev().try_for_each(&mut each),
            }
        })
    }

    /// The last key in the direction.
    fn last_key(&self, direction: Direction) -> Result<Option<&[u8]>> {
        let last = Strings::of(&self.keys)?.last().transpose()?.flatten();
        if direction == Direction::Forward {
            return Ok(last);
        }
        let Some(list) = self.values.0.last() else {
            return Ok(last);
        };
        let stored = Strings::of(list)?.last().transpose()?.flatten();
        let stored = stored.ok_or_else(unexpected_reply)?;
        match split_stamp(stored)? {
            (Version(since), _) if since & RUN == 0 => Ok(last),
            (_, head) => head
                .get(COUNT_BYTES..)
                .map(Some)
                .ok_or_else(unexpected_reply),
        }
    }
}

/// A key and a value.
type Row<'a> = (&'a [u8], &'a [u8]);

/// Decodes the rows of a run.
fn run(list: &[u8]) -> Result<Vec<Row<'_>>> {
    let mut strings = Strings::of(list)?;
    let mut rows = Vec::with_capacity(RUN_ROWS_MAX);
    while let Some(key) = strings.next() {
        let value = strings.next().transpose()?.flatten();
        match (key?, value) {
            (Some(key), Some(value)) => rows.push((key, value)),
            _ => return Err(unexpected_reply()),
        }
    }
    Ok(rows)
}

/// A key, and its stored value before a change.
type Saved = (Vec<u8>, Vec<u8>);

/// A page of a range at a version: the newest rows, and the saved values to replace them with.
pub(crate) struct PageReply {
    rows: NewestRows,
    saved: Vec<Saved>,
    /// The last key that the page covers, if more may follow.
    reached: Option<Vec<u8>>,
    range: KeyRange,
    version: Version,
    direction: Direction,
}

impl PageReply {
    /// Decodes the reply of the page script.
    pub(crate) fn of(
        mut reply: Reply,
        range: &KeyRange,
        version: Version,
        direction: Direction,
    ) -> Result<Self> {
        let more = reply.number()? == 1;
        let cut = reply.bytes()?.as_deref().map(saved_key).transpose()?;
        let rows = NewestRows::take(&mut reply)?;
        let saved = saved(reply.list()?)?;
        let last = match more {
            true => rows.last_key(direction)?.map(<[u8]>::to_vec),
            false => None,
        };
        let reached = match (last, cut) {
            (Some(last), Some(cut)) if is_before(direction, &cut, &last) => Some(cut),
            (last, cut) => last.or(cut),
        };
        // A run may begin before the range.
        let reached = reached.filter(|reached| *reached >= range.start);
        Ok(Self {
            rows,
            saved,
            reached,
            range: range.clone(),
            version,
            direction,
        })
    }

    /// Merges the newest rows and the saved ones into a page, in the direction of the scan. Returns the last key
    /// that it covers, if more may follow.
    pub(crate) fn merge_into(self, page: &mut Page) -> Result<Option<Vec<u8>>> {
        let direction = self.direction;
        let mut saved = self.saved.iter().peekable();
        self.rows.each(direction, |key, since, value| {
            let mut is_replaced = false;
            while let Some((old_key, old)) =
                saved.next_if(|(old_key, _)| !is_before(direction, key, old_key))
            {
                is_replaced |= old_key == key;
                self.push_saved(old_key, old, page)?;
            }
            if !is_replaced {
                self.push(key, since, value, page);
            }
            Ok(())
        })?;
        saved.try_for_each(|(key, old)| self.push_saved(key, old, page))?;
        Ok(self.reached)
    }

    fn push_saved(&self, key: &[u8], stored: &[u8], page: &mut Page) -> Result<()> {
        let (since, value) = split_stamp(stored)?;
        self.push(key, since, value, page);
        Ok(())
    }

    /// Appends a row, if it is in the range and existed at the version.
    fn push(&self, key: &[u8], since: Version, value: &[u8], page: &mut Page) {
        let reached = self.reached.as_deref();
        let is_beyond = reached.is_some_and(|reached| is_before(self.direction, reached, key));
        if !is_beyond && since <= self.version && self.range.contains(key) {
            page.push(key, value);
        }
    }
}

fn is_before(direction: Direction, one: &[u8], other: &[u8]) -> bool {
    match direction {
        Direction::Forward => one < other,
        Direction::Backward => one > other,
    }
}

fn saved_key(member: &[u8]) -> Result<Vec<u8>> {
    key_of_undo_member(member).ok_or_else(unexpected_reply)
}

/// Decodes a flat list of undo members and saved values.
fn saved(list: Vec<Value>) -> Result<Vec<Saved>> {
    let mut saved = Vec::with_capacity(list.len() / 2);
    let mut list = list.into_iter();
    while let Some(member) = list.next() {
        let member = bytes(member)?.ok_or_else(unexpected_reply)?;
        let old = list.next().ok_or_else(unexpected_reply)?;
        let old = bytes(old)?.ok_or_else(unexpected_reply)?;
        saved.push((saved_key(&member)?, old));
    }
    Ok(saved)
}
