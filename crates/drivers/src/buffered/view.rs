//! Reading what a write would leave.

use std::borrow::Cow;

use espalier_keyspace::{Cursor, Direction, KeyRange, Result, Snapshot, Version, is_key};

use super::buffer::{Buffer, Slot};
use super::reads::{Reads, Run};

/// The state as the write would leave it.
pub(super) struct Unfinished<'a>(pub(super) &'a Buffer);

impl Snapshot for Unfinished<'_> {
    fn version(&self) -> Version {
        self.0.base.version()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        if let Some(own) = self.0.told(key) {
            return Ok(own);
        }
        if !is_key(key) || self.0.is_bare_at(key) {
            return Ok(None);
        }
        let value = self.0.base.get(key)?;
        self.0.reads.borrow_mut().key(key, value.as_deref());
        Ok(value)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Cow<'_, [u8]>>>> {
        let is_own = |key: &[u8]| self.0.own.contains_key(key) || self.0.gone.around(key).is_some();
        let is_known = |key: &[u8]| is_own(key) || !is_key(key) || self.0.is_bare_at(key);
        let asked: Vec<&[u8]> = keys.iter().copied().filter(|key| !is_known(key)).collect();
        let found = self.0.base.get_many(&asked)?;
        let mut reads = self.0.reads.borrow_mut();
        for (key, value) in asked.iter().zip(&found) {
            reads.key(key, value.as_deref());
        }
        drop(reads);
        let mut found = asked.into_iter().zip(found).peekable();
        let values = keys.iter().map(|key| {
            let asked = found.next_if(|(asked, _)| asked == key);
            asked.map_or_else(|| self.0.told(key).flatten(), |(_, value)| value)
        });
        Ok(values.collect())
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        Ok(Box::new(Merged::new(self.0, range, direction)?))
    }
}

type Own<'a> = Box<dyn Iterator<Item = (&'a Vec<u8>, &'a Slot)> + 'a>;
type Pair = (Vec<u8>, Vec<u8>);

/// A scan of the snapshot with the write on top.
struct Merged<'a> {
    buffer: &'a Buffer,
    range: KeyRange,
    direction: Direction,
    own: std::iter::Peekable<Own<'a>>,
    /// The snapshot's half; none where it is known to be empty.
    base: Option<Base<'a>>,
    /// The next pair of the snapshot that the write left alone; `None` where it has to be looked for.
    ahead: Option<Option<Pair>>,
    /// What was lent last.
    current: Pair,
}

/// A scan of the snapshot, which notes what it shows.
struct Base<'a> {
    buffer: &'a Buffer,
    direction: Direction,
    cursor: Box<dyn Cursor + 'a>,
    /// None after the end.
    run: Option<Run>,
}

impl<'a> Base<'a> {
    fn new(buffer: &'a Buffer, range: &KeyRange, direction: Direction) -> Result<Option<Base<'a>>> {
        let is_empty = range.is_empty() || buffer.gone.covers(range);
        if is_empty || buffer.reads.borrow().is_bare(range) {
            return Ok(None);
        }
        Ok(Some(Self {
            buffer,
            direction,
            cursor: buffer.base.scan(range, direction)?,
            run: Some(Run::new(range.clone(), direction)),
        }))
    }

    /// The next pair that lies in no range that the write deleted.
    fn next(&mut self) -> Result<Option<Pair>> {
        loop {
            let Some(run) = &mut self.run else {
                return Ok(None);
            };
            let Some((key, value)) = self.cursor.next()? else {
                self.end(|run, reads| run.ended(reads));
                return Ok(None);
            };
            let Some((start, end)) = self.buffer.gone.around(key) else {
                run.pair(key, value);
                return Ok(Some((key.to_vec(), value.to_vec())));
            };
            let mut rest = run.rest();
            let is_at_start = key == start;
            self.end(|run, reads| run.came_to(start, end, reads));
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
            self.run = Some(Run::new(rest, self.direction));
        }
    }

    /// Moves within the range, of which `rest` is left there.
    fn seek(&mut self, key: &[u8], rest: KeyRange) -> Result<()> {
        self.end(|run, reads| run.left(reads));
        self.cursor.seek(key)?;
        self.run = Some(Run::new(rest, self.direction));
        Ok(())
    }

    fn end(&mut self, how: impl FnOnce(Run, &mut Reads)) {
        if let Some(run) = self.run.take() {
            how(run, &mut self.buffer.reads.borrow_mut());
        }
    }
}

impl Drop for Base<'_> {
    fn drop(&mut self) {
        self.end(|run, reads| run.left(reads));
    }
}

impl<'a> Merged<'a> {
    fn new(buffer: &'a Buffer, range: &KeyRange, direction: Direction) -> Result<Self> {
        Ok(Self {
            buffer,
            range: range.clone(),
            direction,
            own: own_pairs(buffer, range, direction).peekable(),
            base: Base::new(buffer, range, direction)?,
            ahead: None,
            current: Pair::default(),
        })
    }

    /// Whether the write's next key comes before the snapshot's, or is the same.
    fn own_first(&mut self) -> Option<std::cmp::Ordering> {
        let own = self.own.peek().map(|(key, _)| key.as_slice());
        let base = self.ahead.as_ref()?.as_ref().map(|(key, _)| key.as_slice());
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

fn own_pairs<'a>(buffer: &'a Buffer, range: &KeyRange, direction: Direction) -> Own<'a> {
    if range.is_empty() {
        return Box::new(std::iter::empty());
    }
    let pairs = buffer.own.range::<[u8], _>(range.bounds());
    match direction {
        Direction::Forward => Box::new(pairs),
        Direction::Backward => Box::new(pairs.rev()),
    }
}

impl Cursor for Merged<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        loop {
            if self.ahead.is_none() {
                let base = self.base.as_mut();
                self.ahead = Some(base.map_or(Ok(None), Base::next)?);
            }
            let order = self.own_first();
            if order.is_none_or(|order| order == std::cmp::Ordering::Greater) {
                match self.ahead.take().flatten() {
                    Some(pair) => self.current = pair,
                    None => {
                        self.ahead = Some(None);
                        return Ok(None);
                    }
                }
                break;
            }
            if order == Some(std::cmp::Ordering::Equal) {
                self.ahead = None;
            }
            let own = self.own.next();
            let own = own.and_then(|(key, slot)| Some((key, self.buffer.shown(key, slot)?)));
            if let Some((key, value)) = own {
                self.current = (key.clone(), value.into_owned());
                break;
            }
        }
        Ok(Some((&self.current.0, &self.current.1)))
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        let rest = self.range.left_at(key, self.direction);
        self.own = own_pairs(self.buffer, &rest, self.direction).peekable();
        if let Some(base) = &mut self.base {
            base.seek(key, rest)?;
        }
        self.ahead = None;
        Ok(())
    }
}
