//! Streamed writes for engines without interactive transactions: [`Driver::write`] in terms of
//! [`Driver::commit`].
//!
//! A [`Buffer`] keeps what `fill` writes in memory, over a snapshot, so that the write reads
//! itself. At the end it becomes one batch. What the write was told of single keys (whether one
//! was there already, what it held) becomes preconditions, so that the commit is refused as a
//! conflict when another process made it untrue; what it read by scanning is the business of the
//! caller's own preconditions.
//!
//! [`Driver::write`]: espalier_keyspace::Driver::write
//! [`Driver::commit`]: espalier_keyspace::Driver::commit

use std::borrow::Cow;
use std::collections::BTreeMap;

use espalier_keyspace::{
    BATCH_BYTES_MAX, Batch, Cursor, Direction, Error, ErrorKind, Existed, Fill, KeyRange,
    Operation, OperationRef, Precondition, Result, Snapshot, Version, Writer, counter, is_key,
};

use crate::range_set::RangeSet;

/// Bytes of keys and values in one streamed write, as it is kept in memory: 1 GiB.
pub(crate) const WRITE_BYTES_MAX: usize = BATCH_BYTES_MAX;

/// Single keys that one write may have been told of and that are tested one by one at its end.
/// Beyond that, it is refused when anything at all was committed since it began.
const GUARDS_MAX: usize = 100_000;

/// Stretches of the snapshot that are remembered, so that keys that are written in order are not
/// asked for one by one.
const WINDOWS_MAX: usize = 16;

/// Pairs in such a stretch.
const WINDOW_PAIRS: usize = 16;

/// What a write comes to.
pub(crate) struct Buffered {
    /// Everything written, under the caller's preconditions and those for what was read.
    pub(crate) batch: Batch,
    /// Set when there were too many reads to test: nothing may have been committed since.
    pub(crate) unchanged_since: Option<Version>,
}

/// Tests the preconditions on the snapshot, then takes what `fill` writes over it.
pub(crate) fn fill(
    base: Box<dyn Snapshot + Send>,
    preconditions: &[Precondition],
    fill: Fill<'_>,
) -> Result<Buffered> {
    for condition in preconditions {
        condition.check_limits()?;
        if base.get(&condition.key)?.as_deref() != condition.value.as_deref() {
            return Err(Error::conflict(&condition.key));
        }
    }
    let mut buffer = Buffer::over(base);
    fill(&mut buffer)?;
    Ok(buffer.finish(preconditions))
}

/// What a key holds in the write.
#[derive(Clone, Copy)]
enum Slot {
    /// The value of the operation with this number.
    Put(usize),
    /// A sum.
    Sum([u8; counter::COUNTER_BYTES]),
    Absent,
}

struct Buffer {
    base: Box<dyn Snapshot + Send>,
    operations: Vec<Operation>,
    bytes: usize,
    /// The keys that the write changed one by one, after their last deletion by the range.
    own: BTreeMap<Vec<u8>, Slot>,
    /// The ranges that it deleted.
    gone: RangeSet,
    windows: Vec<Window>,
    guards: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    unchanged_since: Option<Version>,
}

/// Everything that the snapshot holds between two keys.
struct Window {
    range: KeyRange,
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Window {
    fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let at = self
            .pairs
            .binary_search_by(|(held, _)| held.as_slice().cmp(key));
        at.ok().map(|at| self.pairs[at].1.as_slice())
    }
}

impl Buffer {
    fn over(base: Box<dyn Snapshot + Send>) -> Self {
        Self {
            base,
            operations: Vec::new(),
            bytes: 0,
            own: BTreeMap::new(),
            gone: RangeSet::default(),
            windows: Vec::new(),
            guards: BTreeMap::new(),
            unchanged_since: None,
        }
    }

    fn finish(self, preconditions: &[Precondition]) -> Buffered {
        let mut batch = Batch::new();
        for condition in preconditions {
            batch.require(condition.key.clone(), condition.value.clone());
        }
        for (key, value) in self.guards {
            batch.require(key, value);
        }
        for operation in self.operations {
            batch.push(operation);
        }
        Buffered {
            batch,
            unchanged_since: self.unchanged_since,
        }
    }

    fn push(&mut self, operation: Operation) -> Result<()> {
        self.bytes += operation.as_ref().bytes();
        if self.bytes > WRITE_BYTES_MAX {
            let message = format!(
                "a write of more than {WRITE_BYTES_MAX} bytes is too large for this engine; \
                 divide it"
            );
            return Err(Error::new(ErrorKind::BatchTooLarge, message));
        }
        self.operations.push(operation);
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let (key, value) = (key.to_vec(), value.to_vec());
        let own = key.clone();
        self.push(Operation::Put { key, value })?;
        self.own.insert(own, Slot::Put(self.operations.len() - 1));
        Ok(())
    }

    fn value(&self, slot: &Slot) -> Option<Cow<'_, [u8]>> {
        match slot {
            Slot::Absent => None,
            Slot::Sum(sum) => Some(Cow::Owned(sum.to_vec())),
            Slot::Put(at) => match &self.operations[*at] {
                Operation::Put { value, .. } => Some(Cow::Borrowed(value)),
                _ => None,
            },
        }
    }

    /// What the write itself says of a key; `None` where it says nothing.
    fn own(&self, key: &[u8]) -> Option<Option<Cow<'_, [u8]>>> {
        match self.own.get(key) {
            Some(slot) => Some(self.value(slot)),
            None => self.gone.around(key).map(|_| None),
        }
    }

    /// What the snapshot holds, through the windows.
    fn held(&mut self, key: &[u8]) -> Result<Option<&[u8]>> {
        let known = self
            .windows
            .iter()
            .position(|window| window.range.contains(key));
        let at = match known {
            Some(at) => at,
            None => self.open_window(key)?,
        };
        Ok(self.windows[at].get(key))
    }

    fn open_window(&mut self, key: &[u8]) -> Result<usize> {
        let mut range = KeyRange {
            start: key.to_vec(),
            end: None,
        };
        let mut pairs = Vec::with_capacity(WINDOW_PAIRS);
        let mut cursor = self.base.scan(&range, Direction::Forward)?;
        while let Some((key, value)) = cursor.next()? {
            pairs.push((key.to_vec(), value.to_vec()));
            if pairs.len() == WINDOW_PAIRS {
                // The first key after this one.
                range.end = Some([key, &[0]].concat());
                break;
            }
        }
        drop(cursor);
        if self.windows.len() == WINDOWS_MAX {
            self.windows.remove(0);
        }
        self.windows.push(Window { range, pairs });
        Ok(self.windows.len() - 1)
    }

    /// Has the end of the write test that the snapshot still tells the truth of this key.
    fn guard(&mut self, key: &[u8], value: Option<Vec<u8>>) {
        if self.unchanged_since.is_some() {
            return;
        }
        self.guards.insert(key.to_vec(), value);
        if self.guards.len() > GUARDS_MAX {
            self.guards.clear();
            self.unchanged_since = Some(self.base.version());
        }
    }
}

impl Writer for Buffer {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        OperationRef::Put(key, value).check_limits()?;
        self.set(key, value)
    }

    fn put_new(&mut self, key: &[u8], value: &[u8]) -> Result<Existed> {
        OperationRef::Put(key, value).check_limits()?;
        let there = match self.own(key) {
            Some(own) => own.is_some(),
            None => {
                let held = self.held(key)?.map(<[u8]>::to_vec);
                let there = held.is_some();
                self.guard(key, held);
                there
            }
        };
        if there {
            return Ok(Existed::Yes);
        }
        self.set(key, value)?;
        Ok(Existed::No)
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        if !is_key(key) {
            return Ok(None);
        }
        if self.own(key).is_none() {
            let held = self.held(key)?.map(<[u8]>::to_vec);
            self.guard(key, held.clone());
            return Ok(held.map(Cow::Owned));
        }
        Ok(self.own(key).flatten())
    }

    fn snapshot(&mut self) -> Result<Box<dyn Snapshot + '_>> {
        Ok(Box::new(Unfinished(self)))
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        OperationRef::Delete(key).check_limits()?;
        self.push(Operation::Delete { key: key.to_vec() })?;
        self.own.insert(key.to_vec(), Slot::Absent);
        Ok(())
    }

    fn delete_range(&mut self, range: &KeyRange) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        self.push(Operation::DeleteRange(range.clone()))?;
        let within: Vec<_> = self.own.range::<[u8], _>(range.bounds()).collect();
        let within: Vec<_> = within.into_iter().map(|(key, _)| key.clone()).collect();
        for key in within {
            self.own.remove(&key);
        }
        self.gone.insert(range);
        Ok(())
    }

    fn add(&mut self, key: &[u8], delta: i64) -> Result<()> {
        OperationRef::Add(key, delta).check_limits()?;
        let sum = match self.own(key) {
            Some(own) => counter::add(key, own.as_deref(), delta)?,
            None => counter::add(key, self.held(key)?, delta)?,
        };
        let key = key.to_vec();
        let own = key.clone();
        self.push(Operation::Add { key, delta })?;
        self.own.insert(own, Slot::Sum(sum));
        Ok(())
    }
}

/// The state as the write would leave it.
struct Unfinished<'a>(&'a Buffer);

impl Snapshot for Unfinished<'_> {
    fn version(&self) -> Version {
        self.0.base.version()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        match self.0.own(key) {
            Some(own) => Ok(own),
            None => self.0.base.get(key),
        }
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
    base: Box<dyn Cursor + 'a>,
    /// The next pair of the snapshot that the write left alone; `None` where it has to be looked for.
    ahead: Option<Option<Pair>>,
    /// What was lent last.
    current: Pair,
}

impl<'a> Merged<'a> {
    fn new(buffer: &'a Buffer, range: &KeyRange, direction: Direction) -> Result<Self> {
        Ok(Self {
            buffer,
            range: range.clone(),
            direction,
            own: own_pairs(buffer, range, direction).peekable(),
            base: buffer.base.scan(range, direction)?,
            ahead: None,
            current: Pair::default(),
        })
    }

    /// The next pair of the snapshot that lies in no range that the write deleted.
    fn look_ahead(&mut self) -> Result<Option<Pair>> {
        loop {
            let Some((key, value)) = self.base.next()? else {
                return Ok(None);
            };
            let Some((start, end)) = self.buffer.gone.around(key) else {
                return Ok(Some((key.to_vec(), value.to_vec())));
            };
            match (self.direction, end) {
                (Direction::Forward, Some(end)) => self.base.seek(end)?,
                (Direction::Forward, None) => return Ok(None),
                (Direction::Backward, _) if key > start => self.base.seek(start)?,
                (Direction::Backward, _) => {}
            }
        }
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
                self.ahead = Some(self.look_ahead()?);
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
            let own = own.and_then(|(key, slot)| Some((key, self.buffer.value(slot)?)));
            if let Some((key, value)) = own {
                self.current = (key.clone(), value.into_owned());
                break;
            }
        }
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
        self.own = own_pairs(self.buffer, &rest, self.direction).peekable();
        self.base.seek(key)?;
        self.ahead = None;
        Ok(())
    }
}
