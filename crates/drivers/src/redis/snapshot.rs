//! Snapshots and cursors: the newest state, with what was changed since put back.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use espalier_keyspace::{Cursor, Direction, KEY_BYTES_MAX, KeyRange, Result, Snapshot, Version};
use redis::Value;

use super::engine::{Answer, Engine, bytes, escaped, key_of, undo_member, wrong_answer};

/// Rows of the first page of a scan.
const ROWS_MIN: usize = 16;

/// Rows of a page at most; each page has four times as many as the one before.
const ROWS_MAX: usize = 1024;

/// Bytes of a page, about: 1 MiB.
const PAGE_BYTES: usize = 1 << 20;

/// A version that is read at.
pub(super) struct RedisSnapshot {
    engine: Arc<Engine>,
    version: Version,
    /// The version as scripts compare it.
    text: String,
}

impl RedisSnapshot {
    pub(super) fn new(engine: &Arc<Engine>) -> Result<Self> {
        let version = engine.newest()?;
        Ok(Self {
            engine: Arc::clone(engine),
            version,
            text: version.0.to_string(),
        })
    }
}

impl Snapshot for RedisSnapshot {
    fn version(&self) -> Version {
        self.version
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            return Ok(None);
        }
        let engine = &self.engine;
        let names = &engine.names;
        let keys: [&str; 4] = [&names.meta, &names.values, &names.undo, &names.before];
        let least = [b"[", &undo_member(key, self.version.0 + 1)[..]].concat();
        let most = [b"[", &undo_member(key, u64::MAX)[..]].concat();
        let arguments: [&[u8]; 4] = [self.text.as_bytes(), key, &least, &most];
        let answer = engine.ask(|link| link.script(&engine.scripts.get, &keys, &arguments))?;
        let value = engine.checked(answer)?.bytes()?;
        Ok(value.map(Cow::Owned))
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        Ok(Box::new(RedisCursor {
            snapshot: self,
            range: range.clone(),
            direction,
            rest: Some(range.clone()),
            rows: ROWS_MIN,
            page: VecDeque::new(),
            current: Pair::default(),
        }))
    }
}

type Pair = (Vec<u8>, Vec<u8>);

struct RedisCursor<'a> {
    snapshot: &'a RedisSnapshot,
    range: KeyRange,
    direction: Direction,
    /// What was not fetched yet.
    rest: Option<KeyRange>,
    rows: usize,
    /// What was fetched and not lent yet.
    page: VecDeque<Pair>,
    /// What was lent last.
    current: Pair,
}

impl Cursor for RedisCursor<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        while self.page.is_empty() {
            let Some(rest) = self.rest.take().filter(|rest| !rest.is_empty()) else {
                return Ok(None);
            };
            let answer = self.snapshot.page(&rest, self.direction, self.rows)?;
            let page = Page::read(answer, self.direction)?;
            self.rows = (self.rows * 4).min(ROWS_MAX);
            self.rest = page.reached.map(|key| after(rest, key, self.direction));
            self.page = page.pairs.into();
        }
        self.current = self.page.pop_front().unwrap_or_default();
        Ok(Some((&self.current.0, &self.current.1)))
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        let mut rest = self.range.clone();
        match self.direction {
            Direction::Forward if key > rest.start.as_slice() => rest.start = key.to_vec(),
            Direction::Backward if rest.is_before_end(key) => {
                rest.end = Some([key, &[0]].concat());
            }
            _ => {}
        }
        self.rest = Some(rest);
        self.rows = ROWS_MIN;
        self.page.clear();
        Ok(())
    }
}

/// The part of a range that comes after a key in the direction of a scan.
fn after(mut range: KeyRange, mut key: Vec<u8>, direction: Direction) -> KeyRange {
    match direction {
        Direction::Forward => {
            key.push(0);
            range.start = key;
        }
        Direction::Backward => range.end = Some(key),
    }
    range
}

impl RedisSnapshot {
    fn page(&self, range: &KeyRange, direction: Direction, rows: usize) -> Result<Answer> {
        let engine = &self.engine;
        let names = &engine.names;
        let keys: [&str; 5] = [
            &names.meta,
            &names.keys,
            &names.values,
            &names.undo,
            &names.before,
        ];
        let from = |bytes: &[u8]| match bytes {
            b"" => b"-".to_vec(),
            bytes => [b"[", bytes].concat(),
        };
        let to = |bytes: Option<Vec<u8>>| match bytes {
            None => b"+".to_vec(),
            Some(bytes) => [b"(", &bytes[..]].concat(),
        };
        let way: &[u8] = match direction {
            Direction::Forward => b"f",
            Direction::Backward => b"b",
        };
        let (rows, bytes) = (rows.to_string(), PAGE_BYTES.to_string());
        let arguments: [&[u8]; 8] = [
            self.text.as_bytes(),
            way,
            &from(&range.start),
            &to(range.end.clone()),
            &from(&escaped(&range.start)),
            &to(range.end.as_deref().map(escaped)),
            rows.as_bytes(),
            bytes.as_bytes(),
        ];
        let answer = engine.ask(|link| link.script(&engine.scripts.page, &keys, &arguments))?;
        engine.checked(answer)
    }
}

/// A page as the snapshot shows it.
struct Page {
    pairs: Vec<Pair>,
    /// The last key that it is about, where more may follow.
    reached: Option<Vec<u8>>,
}

impl Page {
    /// Puts the newest rows and the saved ones together, both in the direction of the scan.
    fn read(mut answer: Answer, direction: Direction) -> Result<Self> {
        let more = answer.number()? == 1;
        let cut = answer.bytes()?.as_deref().map(saved_key).transpose()?;
        let rows = pairs(answer.list()?)?;
        let saved = pairs(answer.list()?)?;
        let before = |one: &[u8], two: &[u8]| match direction {
            Direction::Forward => one < two,
            Direction::Backward => one > two,
        };
        let last = rows.last().filter(|_| more).map(|(key, _)| key.clone());
        let reached = match (last, cut) {
            (Some(last), Some(cut)) if before(&cut, &last) => Some(cut),
            (last, cut) => last.or(cut),
        };
        let within = |key: &[u8]| reached.as_deref().is_none_or(|end| !before(end, key));
        let mut pairs = Vec::with_capacity(rows.len());
        let mut saved = saved.into_iter().peekable();
        for (key, value) in rows {
            let mut replaced = false;
            while let Some((member, _)) = saved.peek() {
                let old_key = saved_key(member)?;
                if before(&key, &old_key) {
                    break;
                }
                replaced |= old_key == key;
                let old = saved.next().and_then(|(_, old)| old);
                pairs.extend(old.map(|old| (old_key, old)));
            }
            if !replaced {
                pairs.push((key, value.ok_or_else(wrong_answer)?));
            }
        }
        for (member, old) in saved {
            if let Some(old) = old {
                pairs.push((saved_key(&member)?, old));
            }
        }
        pairs.retain(|(key, _)| within(key));
        Ok(Self { pairs, reached })
    }
}

fn saved_key(member: &[u8]) -> Result<Vec<u8>> {
    key_of(member).ok_or_else(wrong_answer)
}

type Row = (Vec<u8>, Option<Vec<u8>>);

/// A flat list of keys and values.
fn pairs(list: Vec<Value>) -> Result<Vec<Row>> {
    let mut pairs = Vec::with_capacity(list.len() / 2);
    let mut list = list.into_iter();
    while let Some(key) = list.next() {
        let key = bytes(key)?.ok_or_else(wrong_answer)?;
        let value = bytes(list.next().ok_or_else(wrong_answer)?)?;
        pairs.push((key, value));
    }
    Ok(pairs)
}
