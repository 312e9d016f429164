//! What scripts answer about rows: lists of keys, lists of values with their stamps, and of runs.

use std::collections::HashMap;

use espalier_keyspace::{Direction, KeyRange, Result, Version};
use redis::Value;

use super::block::RUN_ROWS_MAX;
use super::error::wrong_answer;
use super::link::{Answer, bytes};
use super::names::key_of;
use super::pack::Strings;
use crate::paged_cursor::Page;

/// Bytes of the version that wrote a value or a run, in front of it.
const STAMP_BYTES: usize = 8;

/// Set in the version where a key stands for a run.
const RUN: u64 = 1 << 63;

/// Bytes of how many rows a run has, before its first key.
const COUNT_BYTES: usize = 4;

/// The version that wrote a stored value, and the value.
pub(crate) fn stamped(stored: &[u8]) -> Result<(Version, &[u8])> {
    let (stamp, value) = stored
        .split_first_chunk::<STAMP_BYTES>()
        .ok_or_else(wrong_answer)?;
    Ok((Version(u64::from_be_bytes(*stamp)), value))
}

/// A stored value without its stamp.
pub(crate) fn bare(mut stored: Vec<u8>) -> Result<Vec<u8>> {
    if stored.len() < STAMP_BYTES {
        return Err(wrong_answer());
    }
    stored.drain(..STAMP_BYTES);
    Ok(stored)
}

/// Values in lists, one after the other.
pub(crate) struct Values(Vec<Vec<u8>>);

impl Values {
    pub(crate) fn of(lists: Vec<Value>) -> Result<Self> {
        let lists = lists.into_iter();
        let lists = lists.map(|list| bytes(list)?.ok_or_else(wrong_answer));
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
pub(crate) struct InRuns {
    /// The rows of a run, by the place of the first key that is in it.
    lists: HashMap<u64, Vec<u8>>,
    /// That place, by the place of each other key.
    same: HashMap<u64, u64>,
}

impl InRuns {
    /// Of places, each before the rows, or before the place of an earlier key of that run.
    pub(crate) fn of(answer: Vec<Value>) -> Result<Self> {
        let mut all = Self::default();
        let mut parts = answer.into_iter();
        while let Some(place) = parts.next() {
            match (place, parts.next()) {
                (Value::Int(place), Some(Value::BulkString(list))) => {
                    all.lists.insert(place.cast_unsigned(), list);
                }
                (Value::Int(place), Some(Value::Int(first))) => {
                    all.same
                        .insert(place.cast_unsigned(), first.cast_unsigned());
                }
                _ => return Err(wrong_answer()),
            }
        }
        Ok(all)
    }

    /// The value of the key at a place, where it is to be searched.
    pub(crate) fn find(&self, place: usize, key: &[u8]) -> Result<Option<&[u8]>> {
        let place = place as u64;
        let first = self.same.get(&place).copied().unwrap_or(place);
        let Some(list) = self.lists.get(&first) else {
            return Ok(None);
        };
        let mut strings = Strings::of(list)?;
        while let Some(found) = strings.next() {
            let value = strings.next().transpose()?.flatten();
            if found? == Some(key) {
                return value.map(Some).ok_or_else(wrong_answer);
            }
        }
        Ok(None)
    }
}

/// The newest rows of a part of the key space.
pub(crate) struct Rows {
    keys: Vec<u8>,
    values: Values,
    /// The rows of those of the keys that are runs.
    runs: Vec<Value>,
}

impl Rows {
    /// Takes the next three parts of an answer.
    pub(crate) fn take(answer: &mut Answer) -> Result<Self> {
        Ok(Self {
            keys: answer.bytes()?.ok_or_else(wrong_answer)?,
            values: Values::of(answer.list()?)?,
            runs: answer.list()?,
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
                return Err(wrong_answer());
            };
            let (Version(since), value) = stamped(stored)?;
            if since & RUN == 0 {
                return take(key, Version(since), value);
            }
            let since = Version(since & !RUN);
            let Some(Value::BulkString(list)) = runs.next() else {
                return Err(wrong_answer());
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
        let stored = stored.ok_or_else(wrong_answer)?;
        match stamped(stored)? {
            (Version(since), _) if since & RUN == 0 => Ok(last),
            (_, head) => head.get(COUNT_BYTES..).map(Some).ok_or_else(wrong_answer),
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
            _ => return Err(wrong_answer()),
        }
    }
    Ok(rows)
}

/// A key, and what it held before a change, as it was stored.
type Saved = (Vec<u8>, Vec<u8>);

/// A part of the key space as a version shows it.
pub(crate) struct Part {
    rows: Rows,
    saved: Vec<Saved>,
    /// The last key that it is about, where more may follow.
    reached: Option<Vec<u8>>,
    range: KeyRange,
    version: Version,
    direction: Direction,
}

impl Part {
    /// What a page's answer says of a range.
    pub(crate) fn of(
        mut answer: Answer,
        range: &KeyRange,
        version: Version,
        direction: Direction,
    ) -> Result<Self> {
        let more = answer.number()? == 1;
        let cut = answer.bytes()?.as_deref().map(saved_key).transpose()?;
        let rows = Rows::take(&mut answer)?;
        let saved = saved(answer.list()?)?;
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
    pub(crate) fn show(self, page: &mut Page) -> Result<Option<Vec<u8>>> {
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
        let (since, value) = stamped(stored)?;
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
    key_of(member).ok_or_else(wrong_answer)
}

/// A flat list of undo members and what they saved.
fn saved(list: Vec<Value>) -> Result<Vec<Saved>> {
    let mut saved = Vec::with_capacity(list.len() / 2);
    let mut list = list.into_iter();
    while let Some(member) = list.next() {
        let member = bytes(member)?.ok_or_else(wrong_answer)?;
        let old = list.next().ok_or_else(wrong_answer)?;
        let old = bytes(old)?.ok_or_else(wrong_answer)?;
        saved.push((saved_key(&member)?, old));
    }
    Ok(saved)
}
