//! What scripts answer about rows: lists of keys, lists of values with their stamps, and of runs.

use std::collections::HashMap;

use espalier_keyspace::{Direction, KeyRange, Result, Version};
use redis::Value;

use super::batch::RUN_ROWS_MAX;
use super::connection::{Reply, bytes};
use super::error::unexpected_reply;
use super::msgpack::Strings;
use super::names::key_of_undo_member;
use crate::pages::Page;

/// Bytes of the version that wrote a value or a run, in front of it.
const STAMP_BYTES: usize = 8;

/// Set in the version where a key stands for a run.
const RUN: u64 = 1 << 63;

/// Bytes of how many rows a run has, before its first key.
const COUNT_BYTES: usize = 4;

/// The version that wrote a stored value, and the value.
pub(crate) fn split_stamp(stored: &[u8]) -> Result<(Version, &[u8])> {
    let (stamp, value) = stored
        .split_first_chunk::<STAMP_BYTES>()
        .ok_or_else(unexpected_reply)?;
    Ok((Version(u64::from_be_bytes(*stamp)), value))
}

/// A stored value without its stamp.
pub(crate) fn without_stamp(mut stored: Vec<u8>) -> Result<Vec<u8>> {
    if stored.len() < STAMP_BYTES {
        return Err(unexpected_reply());
    }
    stored.drain(..STAMP_BYTES);
    Ok(stored)
}

/// Values in lists, one after the other.
pub(crate) struct StoredValues(Vec<Vec<u8>>);

impl StoredValues {
    pub(crate) fn of(lists: Vec<Value>) -> Result<Self> {
        let lists = lists.into_iter();
        let lists = lists.map(|list| bytes(list)?.ok_or_else(unexpected_reply));
        lists.collect::<Result<_>>().map(Self)
    }

    /// Each value as it is stored; `None` where there is none.
    pub(crate) fn each(&self, mut take: impl FnMut(Option<&[u8]>) -> Result<()>) -> Result<()> {
        for list in &self.0 {
            Strings::of(list)?.try_for_each(|value| take(value?))?;
        }
        Ok(())
    }
}

/// What is to be searched for keys that are in runs.
#[derive(Default)]
pub(crate) struct RunLookup {
    /// The rows of a run, by the index of the first key that is in it.
    lists: HashMap<u64, Vec<u8>>,
    /// That index, by the index of each other key.
    same: HashMap<u64, u64>,
}

impl RunLookup {
    /// Of indexes, each before the rows, or before the index of an earlier key of that run.
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

    /// The value of the key at a index, where it is to be searched.
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

/// The newest rows of a part of the key space.
pub(crate) struct NewestRows {
    keys: Vec<u8>,
    values: StoredValues,
    /// The rows of those of the keys that are runs.
    runs: Vec<Value>,
}

impl NewestRows {
    /// Takes the next three parts of an answer.
    pub(crate) fn take(reply: &mut Reply) -> Result<Self> {
        Ok(Self {
            keys: reply.bytes()?.ok_or_else(unexpected_reply)?,
            values: StoredValues::of(reply.list()?)?,
            runs: reply.list()?,
        })
    }

    /// Each row, and the version that wrote it, in the direction in which the keys are.
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

    /// The last key in a direction.
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

/// The rows of a run.
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

/// A key, and what it held before a change, as it was stored.
type Saved = (Vec<u8>, Vec<u8>);

/// A part of the key space as a version shows it.
pub(crate) struct PageReply {
    rows: NewestRows,
    saved: Vec<Saved>,
    /// The last key that it is about, where more may follow.
    reached: Option<Vec<u8>>,
    range: KeyRange,
    version: Version,
    direction: Direction,
}

impl PageReply {
    /// What a page's answer says of a range.
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
        // A run may begin before the range does.
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

    /// Puts the newest rows and the saved ones together, in the direction of the scan. Says up to
    /// which key that is all, where more may follow.
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

    /// Appends a row of the range that was there at the version already.
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

/// A flat list of undo members and what they saved.
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
