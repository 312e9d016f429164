//! What scripts answer about rows: lists of keys, lists of values with their stamps.

use espalier_keyspace::{Direction, Result, Version};
use redis::Value;

use super::error::wrong_answer;
use super::link::{Answer, bytes};
use super::names::key_of;
use super::pack::Strings;
use crate::pages::Page;

/// Bytes of the version that wrote a value, in front of it.
const STAMP_BYTES: usize = 8;

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

/// The newest rows of a part of the key space.
pub(crate) struct Rows {
    keys: Vec<u8>,
    values: Values,
}

impl Rows {
    /// Takes the next two parts of an answer.
    pub(crate) fn take(answer: &mut Answer) -> Result<Self> {
        Ok(Self {
            keys: answer.bytes()?.ok_or_else(wrong_answer)?,
            values: Values::of(answer.list()?)?,
        })
    }

    fn last_key(&self) -> Result<Option<&[u8]>> {
        Ok(Strings::of(&self.keys)?.last().transpose()?.flatten())
    }

    /// Each key, and its value as it is stored.
    pub(crate) fn each(&self, mut take: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        let mut keys = Strings::of(&self.keys)?;
        self.values.each(|value| {
            let key = keys.next().transpose()?.flatten();
            match (key, value) {
                (Some(key), Some(value)) => take(key, value),
                _ => Err(wrong_answer()),
            }
        })
    }
}

/// A key, and what it held before a change, as it was stored.
type Saved = (Vec<u8>, Vec<u8>);

/// A part of the key space as a version shows it.
pub(crate) struct Part {
    rows: Rows,
    saved: Vec<Saved>,
    /// The last key that it is about, where more may follow.
    reached: Option<Vec<u8>>,
    version: Version,
    direction: Direction,
}

impl Part {
    /// What a page's answer says.
    pub(crate) fn of(mut answer: Answer, version: Version, direction: Direction) -> Result<Self> {
        let more = answer.number()? == 1;
        let cut = answer.bytes()?.as_deref().map(saved_key).transpose()?;
        let rows = Rows::take(&mut answer)?;
        let saved = saved(answer.list()?)?;
        let last = match more {
            true => rows.last_key()?.map(<[u8]>::to_vec),
            false => None,
        };
        let reached = match (last, cut) {
            (Some(last), Some(cut)) if is_before(direction, &cut, &last) => Some(cut),
            (last, cut) => last.or(cut),
        };
        Ok(Self {
            rows,
            saved,
            reached,
            version,
            direction,
        })
    }

    /// Puts the newest rows and the saved ones together, in the direction of the scan. Says up to
    /// which key that is all, where more may follow.
    pub(crate) fn show(self, page: &mut Page) -> Result<Option<Vec<u8>>> {
        let direction = self.direction;
        let mut saved = self.saved.iter().peekable();
        self.rows.each(|key, stored| {
            let mut is_replaced = false;
            while let Some((old_key, old)) =
                saved.next_if(|(old_key, _)| !is_before(direction, key, old_key))
            {
                is_replaced |= old_key == key;
                self.push(old_key, old, page)?;
            }
            match is_replaced {
                true => Ok(()),
                false => self.push(key, stored, page),
            }
        })?;
        saved.try_for_each(|(key, old)| self.push(key, old, page))?;
        Ok(self.reached)
    }

    /// Appends a row that was there at the version already.
    fn push(&self, key: &[u8], stored: &[u8], page: &mut Page) -> Result<()> {
        let reached = self.reached.as_deref();
        let is_beyond = reached.is_some_and(|reached| is_before(self.direction, reached, key));
        let (since, value) = stamped(stored)?;
        if !is_beyond && since <= self.version {
            page.push(key, value);
        }
        Ok(())
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
