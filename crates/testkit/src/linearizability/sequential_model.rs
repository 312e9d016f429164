//! A key space with some registers and a counter, as an object for the search.
//!
//! Every commit has a unique *stamp*, which determines everything that it writes: a register is one key, or
//! many that are written together. So a reader can detect torn values and partial commits. Each commit also
//! leaves a *receipt*, which shows at the end whether a commit with an unknown outcome was applied.

use std::collections::BTreeMap;

use espalier_keyspace::{Batch, Direction, Driver, KeyRange, Result, Snapshot, Writer, counter};

use super::search::Object;

/// Number of registers with one key.
const NARROW: usize = 4;

/// Number of registers; the last one has many keys.
pub(super) const REGISTERS: usize = NARROW + 1;

/// Number of keys of the wide register, if its stamp is not a multiple of [`WIDER`].
const WIDTH: u16 = 10;

/// One stamp in this many has [`WIDTH_MAX`] keys: more than fit into one etcd transaction.
const WIDER: u64 = 8;

const WIDTH_MAX: u16 = 160;

const COUNT: &[u8] = b"count";

const WIDE: &[u8] = b"w";

const RECEIPTS: &[u8] = b"x";

/// The state of a key space: a stamp in each register (0 if it was never written), and the counter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    pub(super) registers: [u64; REGISTERS],
    pub(super) count: i64,
}

/// A change of one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub(super) register: usize,
    /// The stamp that the register must hold, or any.
    pub(super) expected: Option<u64>,
    pub(super) stamp: u64,
    /// Whether the change increments the counter.
    pub(super) counts: bool,
}

/// An operation with its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// A read with this result.
    Read(State),
    /// A committed change.
    Committed(Change),
    /// A change that was rejected because the register does not hold the expected stamp.
    Rejected(Change),
}

/// The key space as an object.
pub struct Space;

impl Object for Space {
    type State = State;
    type Act = Act;

    fn start(&self) -> State {
        State::default()
    }

    fn step(&self, state: &State, act: &Act) -> Option<State> {
        match act {
            Act::Read(seen) => (seen == state).then(|| state.clone()),
            Act::Committed(change) => change.is_allowed(state).then(|| change.apply(state)),
            Act::Rejected(change) => (!change.is_allowed(state)).then(|| state.clone()),
        }
    }
}

impl Change {
    fn is_allowed(&self, state: &State) -> bool {
        let held = state.registers[self.register];
        self.expected.is_none_or(|expected| expected == held)
    }

    fn apply(&self, state: &State) -> State {
        let mut state = state.clone();
        state.registers[self.register] = self.stamp;
        state.count += i64::from(self.counts);
        state
    }

    /// The change as a batch.
    pub(super) fn batch(&self) -> Batch {
        let mut batch = Batch::new();
        if let Some(expected) = self.expected {
            let value = (expected != 0).then(|| value(self.register, expected));
            batch.require(first_key(self.register), value);
        }
        if self.register == NARROW {
            batch.delete_range(KeyRange::prefix(WIDE));
        }
        let value = value(self.register, self.stamp);
        for key in keys(self.register, self.stamp) {
            batch.put(key, value.clone());
        }
        if self.counts {
            batch.add(COUNT, 1);
        }
        batch.put(receipt(self.stamp), [u8::from(self.counts)]);
        batch
    }

    /// The change as calls of a writer.
    pub(super) fn write(&self, writer: &mut dyn Writer) -> Result<()> {
        if self.register == NARROW {
            writer.delete_range(&KeyRange::prefix(WIDE))?;
        }
        let value = value(self.register, self.stamp);
        for key in keys(self.register, self.stamp) {
            writer.put(&key, &value)?;
        }
        if self.counts {
            writer.add(COUNT, 1)?;
        }
        writer.put(&receipt(self.stamp), &[u8::from(self.counts)])
    }
}

fn first_key(register: usize) -> Vec<u8> {
    match register {
        NARROW => [WIDE, &[0, 0]].concat(),
        narrow => vec![b's', narrow as u8],
    }
}

fn keys(register: usize, stamp: u64) -> Vec<Vec<u8>> {
    if register < NARROW {
        return vec![first_key(register)];
    }
    let wide = (0..width(stamp)).map(|key| [WIDE, &key.to_be_bytes()].concat());
    wide.collect()
}

fn width(stamp: u64) -> u16 {
    match stamp % WIDER {
        0 => WIDTH_MAX,
        _ => WIDTH,
    }
}

fn receipt(stamp: u64) -> Vec<u8> {
    [RECEIPTS, &stamp.to_be_bytes()].concat()
}

/// The stamp and padding: usually short, sometimes longer than the logs of engines keep, or than a value of
/// etcd.
fn value(register: usize, stamp: u64) -> Vec<u8> {
    let filling = match (register, stamp % 128) {
        (NARROW, _) => 20,
        (_, 7) => 600_000,
        (_, 9 | 75) => 70_000,
        (_, short) => short as usize,
    };
    let mut value = stamp.to_be_bytes().to_vec();
    value.resize(value.len() + filling, stamp as u8);
    value
}

/// The stamp of a value; panics if the value was never written.
#[track_caller]
fn stamp_of(register: usize, held: &[u8]) -> u64 {
    let stamp = held
        .first_chunk()
        .map_or(0, |first| u64::from_be_bytes(*first));
    let is_whole = held == value(register, stamp);
    assert!(
        is_whole,
        "a torn value of stamp {stamp:#x} in register {register}"
    );
    stamp
}

/// Reads the state from a snapshot; panics if it shows a partial commit.
pub(super) fn read(snapshot: &dyn Snapshot) -> Result<State> {
    let mut state = State::default();
    for register in 0..NARROW {
        let held = snapshot.get(&first_key(register))?;
        state.registers[register] = held.map_or(0, |held| stamp_of(register, &held));
    }
    let count = snapshot.get(COUNT)?;
    state.count = counter::decode(COUNT, count.as_deref())?;
    let mut cursor = snapshot.scan(&KeyRange::prefix(WIDE), Direction::Forward)?;
    let mut stamps = BTreeMap::<u64, u16>::new();
    while let Some((_, held)) = cursor.next()? {
        *stamps.entry(stamp_of(NARROW, held)).or_default() += 1;
    }
    if let Some((&stamp, &keys)) = stamps.first_key_value() {
        let is_whole = stamps.len() == 1 && keys == width(stamp);
        assert!(is_whole, "a partial commit is visible: {stamps:x?}");
        state.registers[NARROW] = stamp;
    }
    Ok(state)
}

/// The stamps of all applied commits, and whether each incremented the counter.
pub(super) fn receipts(driver: &dyn Driver) -> Result<BTreeMap<u64, bool>> {
    let snapshot = driver.snapshot()?;
    let mut cursor = snapshot.scan(&KeyRange::prefix(RECEIPTS), Direction::Forward)?;
    let mut receipts = BTreeMap::new();
    while let Some((key, value)) = cursor.next()? {
        let stamp = key[RECEIPTS.len()..].try_into().expect("a receipt");
        receipts.insert(u64::from_be_bytes(stamp), value == [1]);
    }
    Ok(receipts)
}
