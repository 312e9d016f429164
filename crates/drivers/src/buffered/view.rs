//! Reads that include the changes of the write.

use std::borrow::Cow;

use espalier_keyspace::{Cursor, Direction, KeyRange, Result, Snapshot, Version, is_key};

use super::buffer::{Buffer, KeyState};
use super::read_set::{ReadSet, ScanRecorder};

/// The state including the changes of the write so far.
pub(super) struct WriteView<'a>(pub(super) &'a Buffer);

impl Snapshot for WriteView<'_> {
    fn version(&self) -> Version {
        self.0.base.version()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        if let Some(own) = self.0.read_buffered(key) {
            return Ok(own);
        }
        if !is_key(key) || self.0.is_known_empty_at(key) {
            return Ok(None);
        }
        let value = self.0.base.get(key)?;
        self.0.reads.borrow_mut().record_key(key, value.as_deref());
        Ok(value)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Cow<'_, [u8]>>>> {
        let is_buffered =
            |key: &[u8]| self.0.changed.contains_key(key) || self.0.deleted.around(key).is_some();
        let is_answered =
            |key: &[u8]| is_buffered(key) || !is_key(key) || self.0.is_known_empty_at(key);
        let missing: Vec<&[u8]> = keys
            .iter()
            .copied()
            .filter(|key| !is_answered(key))
            .collect();
        let found = self.0.base.get_many(&missing)?;
        let mut reads = self.0.reads.borrow_mut();
        for (key, value) in missing.iter().zip(&found) {
            reads.record_key(key, value.as_deref());
        }
        drop(reads);
        let mut found = missing.into_iter().zip(found).peekable();
        let values = keys.iter().map(|key| {
            let value = found.next_if(|(read_key, _)| read_key == key);
            value.map_or_else(|| self.0.read_buffered(key).flatten(), |(_, value)| value)
        });
        Ok(values.collect())
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        Ok(Box::new(MergedCursor::new(self.0, range, direction)?))
    }
}

type BufferedKeys<'a> = Box<dyn Iterator<Item = (&'a Vec<u8>, &'a KeyState)> + 'a>;
type Pair = (Vec<u8>, Vec<u8>);

/// A scan of the snapshot merged with the buffered changes.
struct MergedCursor<'a> {
    buffer: &'a Buffer,
    range: KeyRange,
    direction: Direction,
    buffered: std::iter::Peekable<BufferedKeys<'a>>,
    /// The scan of the snapshot; `None` if it is known to be empty.
    base: Option<BaseCursor<'a>>,
    /// The next pair of the snapshot outside of deleted ranges; `None` if it is not read yet.
    next_base: Option<Option<Pair>>,
    /// The pair returned last.
    current: Pair,
}

/// A scan of the snapshot that records what it returns.
struct BaseCursor<'a> {
    buffer: &'a Buffer,
    direction: Direction,
    cursor: Box<dyn Cursor + 'a>,
    /// `None` after the end.
    recorder: Option<ScanRecorder>,
}

impl<'a> BaseCursor<'a> {
    fn new(
        buffer: &'a Buffer,
        range: &KeyRange,
        direction: Direction,
    ) -> Result<Option<BaseCursor<'a>>> {
        let is_empty = range.is_empty() || buffer.deleted.covers(range);
        if is_empty || buffer.reads.borrow().is_known_empty(range) {
            return Ok(None);
        }
        Ok(Some(Self {
            buffer,
            direction,
            cursor: buffer.base.scan(range, direction)?,
            recorder: Some(ScanRecorder::new(range.clone(), direction)),
        }))
    }

    /// The next pair that is not in a deleted range.
    fn next(&mut self) -> Result<Option<Pair>> {
        loop {
            let Some(recorder) = &mut self.recorder else {
                return Ok(None);
            };
            let Some((key, value)) = self.cursor.next()? else {
                self.end(|recorder, reads| recorder.finish_at_end(reads));
                return Ok(None);
            };
            let Some((start, end)) = self.buffer.deleted.around(key) else {
                recorder.record(key, value);
                return Ok(Some((key.to_vec(), value.to_vec())));
            };
            let mut rest = recorder.rest();
            let is_at_start = key == start;
            self.end(|recorder, reads| recorder.finish_before(start, end, reads));
            match (self.direction, end) {
                (Direction::Forward, Some(end)) => {
                    rest.start = end.to_vec();
                    self.cursor.seek(end)?;
                }
                (Direction::Forward, None) => return Ok(None),
                (Direction::Backward, _) => {
                    rest.end = Some(start.to_vec());
                    if !is_at_start {
                        self.cursor.seek(start)?;
                    }
                }
            }
            self.recorder = Some(ScanRecorder::new(rest, self.direction));
        }
    }

    /// Seeks within the range; `rest` is the range from there.
    fn seek(&mut self, key: &[u8], rest: KeyRange) -> Result<()> {
        self.end(|recorder, reads| recorder.finish_at_last(reads));
        self.cursor.seek(key)?;
        self.recorder = Some(ScanRecorder::new(rest, self.direction));
        Ok(())
    }

    fn end(&mut self, finish: impl FnOnce(ScanRecorder, &mut ReadSet)) {
        if let Some(recorder) = self.recorder.take() {
            finish(recorder, &mut self.buffer.reads.borrow_mut());
        }
    }
}

impl Drop for BaseCursor<'_> {
    fn drop(&mut self) {
        self.end(|recorder, reads| recorder.finish_at_last(reads));
    }
}

impl<'a> MergedCursor<'a> {
    fn new(buffer: &'a Buffer, range: &KeyRange, direction: Direction) -> Result<Self> {
        Ok(Self {
            buffer,
            range: range.clone(),
            direction,
            buffered: buffered_keys(buffer, range, direction).peekable(),
            base: BaseCursor::new(buffer, range, direction)?,
            next_base: None,
            current: Pair::default(),
        })
    }

    /// Compares the next buffered key with the next key of the snapshot, in scan order.
    fn compare_next(&mut self) -> Option<std::cmp::Ordering> {
        let own = self.buffered.peek().map(|(key, _)| key.as_slice());
        let base = self
            .next_base
            .as_ref()?
            .as_ref()
            .map(|(key, _)| key.as_slice());
        let order = match (own?, base) {
            (_, None) => return Some(std::cmp::Ordering::Less),
            (own, Some(base)) => own.cmp(base),
        };
        Some(match self.direction {
            Direction::Forward => order,
            Direction::Backward => order.reverse(),
        })
    }
}

fn buffered_keys<'a>(
    buffer: &'a Buffer,
    range: &KeyRange,
    direction: Direction,
) -> BufferedKeys<'a> {
    if range.is_empty() {
        return Box::new(std::iter::empty());
    }
    let pairs = buffer.changed.range::<[u8], _>(range.bounds());
    match direction {
        Direction::Forward => Box::new(pairs),
        Direction::Backward => Box::new(pairs.rev()),
    }
}

impl Cursor for MergedCursor<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        loop {
            if self.next_base.is_none() {
                let base = self.base.as_mut();
                self.next_base = Some(base.map_or(Ok(None), BaseCursor::next)?);
            }
            let order = self.compare_next();
            if order.is_none_or(|order| order == std::cmp::Ordering::Greater) {
                match self.next_base.take().flatten() {
                    Some(pair) => self.current = pair,
                    None => {
                        self.next_base = Some(None);
                        return Ok(None);
                    }
                }
                break;
            }
            if order == Some(std::cmp::Ordering::Equal) {
                self.next_base = None;
            }
            let own = self.buffered.next();
            let own =
                own.and_then(|(key, state)| Some((key, self.buffer.state_value(key, state)?)));
            if let Some((key, value)) = own {
                self.current = (key.clone(), value.into_owned());
                break;
            }
        }
        Ok(Some((&self.current.0, &self.current.1)))
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        let rest = self.range.remaining_from(key, self.direction);
        self.buffered = buffered_keys(self.buffer, &rest, self.direction).peekable();
        if let Some(base) = &mut self.base {
            base.seek(key, rest)?;
        }
        self.next_base = None;
        Ok(())
    }
}
