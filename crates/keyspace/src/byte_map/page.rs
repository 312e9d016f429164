//! A node's keys and values, packed.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use super::place::{APART, Place, head, number};

/// Bytes that a page takes before it is split: 4 KiB. Smaller ones are copied faster, larger ones are
/// fewer to search.
const PAGE_BYTES_MAX: usize = 4096;

/// Values up to so many bytes stand in the page; longer ones apart, so that a copy of the page
/// shares them.
const INLINE_BYTES_MAX: usize = 1024;

/// Bytes that keys have in common without another piece of memory for them.
const PREFIX_BYTES: usize = 24;

/// Heads that lie in one line of memory, about.
const LINE_HEADS: usize = 8;

/// Bytes that are free at the end of a page that was copied in order to be changed, or grew.
const SPARE_BYTES: usize = 256;

/// Keys that there is room for in it.
const SPARE_KEYS: usize = 8;

/// Keys in order, each with a value.
#[derive(Default)]
pub(super) struct Page {
    /// Of each key the first bytes after those that all have in common. Few comparisons need more,
    /// and these are read one after the other: a search waits for memory once, not for each.
    heads: Vec<u64>,
    /// Where each key stands.
    places: Vec<Place>,
    bytes: Vec<u8>,
    apart: Vec<Arc<[u8]>>,
    /// What all keys have in common at their beginning; here, as every search looks at it.
    prefix: SmallVec<[u8; PREFIX_BYTES]>,
    /// Bytes that belong to no key any more.
    garbage: usize,
}

/// A value on its way from one page to another.
enum Moved<'a> {
    Bytes(&'a [u8]),
    Apart(&'a Arc<[u8]>),
}

impl Page {
    /// How many keys it has.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The key of that number.
    pub(super) fn key(&self, index: usize) -> &[u8] {
        &self.bytes[self.places[index].key()]
    }

    /// The value of that number.
    pub(super) fn value(&self, index: usize) -> &[u8] {
        let place = self.places[index];
        match place.is_apart() {
            true => &self.apart[place.number_apart()],
            false => &self.bytes[place.key().end..place.cell().end],
        }
    }

    /// The number of a key, or the one that it would have.
    pub(super) fn search(&self, key: &[u8]) -> Result<usize, usize> {
        let prefix = self.prefix.len();
        let (start, rest) = key.split_at(key.len().min(prefix));
        match start.cmp(&self.prefix) {
            Ordering::Less => return Err(0),
            Ordering::Greater => return Err(self.len()),
            Ordering::Equal => {}
        }
        let head = head(rest);
        let from = heads_before(&self.heads, head);
        if self.heads.get(from) != Some(&head) {
            return Err(from);
        }
        let alike = self.heads[from..].partition_point(|&other| other == head);
        let alike = &self.places[from..from + alike];
        let found = alike.binary_search_by(|place| self.bytes[place.key()][prefix..].cmp(rest));
        match found {
            Ok(index) => Ok(from + index),
            Err(index) => Err(from + index),
        }
    }

    /// Sets a key; returns its number, and the bytes of the value that it had.
    pub(super) fn set(&mut self, key: &[u8], value: &[u8]) -> (usize, Option<usize>) {
        match self.search(key) {
            Ok(index) => (index, Some(self.replace(index, value))),
            Err(index) => {
                self.insert(index, key, value);
                (index, None)
            }
        }
    }

    /// Sets the value of the key of that number; returns the bytes of the one that it had.
    pub(super) fn replace(&mut self, index: usize, value: &[u8]) -> usize {
        let before = self.value(index).len();
        let place = self.places[index];
        if before == value.len() && !place.is_apart() {
            self.bytes[place.key().end..place.cell().end].copy_from_slice(value);
            return before;
        }
        self.reserve(place.key().len() + value.len().min(INLINE_BYTES_MAX), 0);
        self.forget(index);
        let at = self.bytes.len();
        self.bytes.extend_from_within(self.places[index].key());
        let value = self.place(Moved::Bytes(value));
        let place = &mut self.places[index];
        (place.at, place.value) = (number(at), value);
        before
    }

    /// Inserts a key that is not there, at its number.
    pub(super) fn insert(&mut self, index: usize, key: &[u8], value: &[u8]) {
        self.reserve(key.len() + value.len().min(INLINE_BYTES_MAX), 1);
        let place = self.write(key, Moved::Bytes(value));
        self.places.insert(index, place);
        self.heads.insert(index, 0);
        let common = common_prefix(key, &self.prefix);
        match self.places.len() {
            1 => self.begin_after(key.len()),
            _ if common < self.prefix.len() => self.begin_after(common),
            _ => self.heads[index] = head(&key[common..]),
        }
    }

    /// Removes the key of that number, and returns the bytes of its value.
    pub(super) fn remove(&mut self, index: usize) -> usize {
        let before = self.value(index).len();
        self.forget(index);
        self.places.remove(index);
        self.heads.remove(index);
        self.tidy();
        before
    }

    /// Removes the keys of these numbers.
    pub(super) fn remove_between(&mut self, range: Range<usize>) {
        range.clone().for_each(|index| self.forget(index));
        self.places.drain(range.clone());
        self.heads.drain(range);
        self.tidy();
    }

    /// Bytes of its keys and values.
    pub(super) fn held_bytes(&self) -> usize {
        let apart: usize = self.apart.iter().map(|value| value.len()).sum();
        self.bytes.len() - self.garbage + apart
    }

    /// Bytes that it takes, but for values that stand apart.
    fn size(&self) -> usize {
        let own = size_of::<u64>() + size_of::<Place>();
        self.bytes.len() - self.garbage + self.places.len() * own
    }

    /// Whether it has to be split.
    pub(super) fn is_over_full(&self) -> bool {
        self.size() > PAGE_BYTES_MAX && self.places.len() > 1
    }

    /// Whether it should be joined with another.
    pub(super) fn is_small(&self) -> bool {
        self.size() < PAGE_BYTES_MAX / 4
    }

    /// Whether it and another make one page, with room for more.
    pub(super) fn fits_with(&self, other: &Self) -> bool {
        self.size() + other.size() <= PAGE_BYTES_MAX / 4 * 3
    }

    /// Where to split it after the key of that number was inserted: in the middle, but where keys
    /// come in order, before the one that came.
    pub(super) fn middle(&self, inserted: usize) -> usize {
        let last = self.places.len() - 1;
        if inserted == last {
            return last;
        }
        let half = (self.bytes.len() - self.garbage) / 2;
        let mut bytes = 0;
        let middle = self.places.iter().position(|place| {
            bytes += place.cell().len();
            bytes > half
        });
        middle.unwrap_or(last).clamp(1, last)
    }

    /// Leaves the keys before that number, and returns the others.
    pub(super) fn split_off(&mut self, at: usize) -> Self {
        let is_in_order = at + 1 == self.places.len();
        let right = self.part(at..self.places.len(), SPARE_BYTES, SPARE_KEYS);
        *self = match is_in_order {
            true => self.part(0..at, 0, 0),
            false => self.part(0..at, SPARE_BYTES, SPARE_KEYS),
        };
        right
    }

    /// Puts the keys of another page, which come after its own, at its end.
    pub(super) fn append(&mut self, right: &Self) {
        self.reserve(right.bytes.len() - right.garbage, right.places.len());
        for &place in &right.places {
            self.push(right, place);
        }
        self.begin_after_common();
    }

    /// A page of some of its keys, with so much room for more.
    fn part(&self, range: Range<usize>, spare_bytes: usize, spare_keys: usize) -> Self {
        let places = &self.places[range];
        let bytes: usize = places.iter().map(|place| place.cell().len()).sum();
        let mut part = Self {
            heads: Vec::with_capacity(places.len() + spare_keys),
            places: Vec::with_capacity(places.len() + spare_keys),
            bytes: Vec::with_capacity(bytes + spare_bytes),
            ..Self::default()
        };
        for &place in places {
            part.push(self, place);
        }
        part.begin_after_common();
        part
    }

    /// Puts a key of another page at the end, without its head.
    fn push(&mut self, from: &Self, place: Place) {
        let value = match place.is_apart() {
            true => Moved::Apart(&from.apart[place.number_apart()]),
            false => Moved::Bytes(&from.bytes[place.key().end..place.cell().end]),
        };
        let place = self.write(&from.bytes[place.key()], value);
        self.places.push(place);
    }

    /// Writes a key and a value, without the head.
    fn write(&mut self, key: &[u8], value: Moved<'_>) -> Place {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(key);
        Place {
            at: number(at),
            key: number(key.len()),
            value: self.place(value),
        }
    }

    fn place(&mut self, value: Moved<'_>) -> u32 {
        let apart = match value {
            Moved::Bytes(value) if value.len() <= INLINE_BYTES_MAX => {
                self.bytes.extend_from_slice(value);
                return number(value.len());
            }
            Moved::Bytes(value) => value.into(),
            Moved::Apart(value) => Arc::clone(value),
        };
        self.apart.push(apart);
        APART | number(self.apart.len() - 1)
    }

    /// Counts what a place points to as garbage, and lets its value go where it stands apart. The place
    /// is to be removed or written anew.
    fn forget(&mut self, index: usize) {
        let place = self.places[index];
        self.garbage += place.cell().len();
        if !place.is_apart() {
            return;
        }
        self.places[index].value = 0;
        self.apart.swap_remove(place.number_apart());
        let last = APART | number(self.apart.len());
        let moved = self.places.iter_mut().find(|place| place.value == last);
        if let Some(moved) = moved {
            moved.value = place.value;
        }
    }

    /// Makes room; what is garbage is thrown away first.
    fn reserve(&mut self, bytes: usize, places: usize) {
        if self.bytes.capacity() - self.bytes.len() < bytes {
            match self.garbage > 0 {
                true => self.pack(bytes + SPARE_BYTES),
                false => {
                    let spare = SPARE_BYTES.max(self.bytes.len() / 4);
                    self.bytes.reserve_exact(bytes + spare);
                }
            }
        }
        if self.places.capacity() - self.places.len() < places {
            let places = places + SPARE_KEYS.max(self.places.len() / 4);
            self.places.reserve_exact(places);
            self.heads.reserve_exact(places);
        }
    }

    fn tidy(&mut self) {
        if self.garbage > SPARE_BYTES && self.garbage > self.bytes.len() / 2 {
            self.pack(0);
        }
    }

    /// Writes the keys again, in order and without garbage.
    fn pack(&mut self, spare: usize) {
        let live = self.bytes.len() - self.garbage;
        let mut packed = Vec::with_capacity(live + spare);
        for place in &mut self.places {
            let at = packed.len();
            packed.extend_from_slice(&self.bytes[place.cell()]);
            place.at = number(at);
        }
        self.bytes = packed;
        self.garbage = 0;
    }

    fn begin_after_common(&mut self) {
        let common = match self.places.len() {
            0 => 0,
            count => common_prefix(self.key(0), self.key(count - 1)),
        };
        self.begin_after(common);
    }

    /// Makes the heads those after so many bytes.
    fn begin_after(&mut self, common: usize) {
        let first = self.places.first();
        let first = first.map_or(&[][..], |first| &self.bytes[first.key()]);
        self.prefix = SmallVec::from_slice(&first[..common]);
        self.heads.clear();
        let keys = self.places.iter().map(|place| &self.bytes[place.key()]);
        self.heads.extend(keys.map(|key| head(&key[common..])));
    }
}

/// A copy in order to be changed.
impl Clone for Page {
    fn clone(&self) -> Self {
        let mut heads = Vec::with_capacity(self.heads.len() + SPARE_KEYS);
        heads.extend_from_slice(&self.heads);
        let mut places = Vec::with_capacity(self.places.len() + SPARE_KEYS);
        places.extend_from_slice(&self.places);
        let mut bytes = Vec::with_capacity(self.bytes.len() + SPARE_BYTES);
        bytes.extend_from_slice(&self.bytes);
        Self {
            heads,
            places,
            bytes,
            apart: self.apart.clone(),
            prefix: self.prefix.clone(),
            garbage: self.garbage,
        }
    }
}

/// How many heads, which are in order, are less than one. The last of each line of memory tells in
/// which line it is: the lines are waited for together, and few heads are compared.
fn heads_before(heads: &[u64], head: u64) -> usize {
    let is_before = |other: &u64| usize::from(*other < head);
    let (lines, _) = heads.as_chunks::<LINE_HEADS>();
    let lines: usize = lines.iter().map(|[.., last]| is_before(last)).sum();
    let from = lines * LINE_HEADS;
    let line = heads[from..].iter().take(LINE_HEADS);
    from + line.map(is_before).sum::<usize>()
}

/// What stands before the keys of `right` and after those of `left`: the fewest bytes of the first
/// of `right` that do.
pub(super) fn separator(left: &Page, right: &Page) -> Vec<u8> {
    let (last, first) = (left.key(left.len() - 1), right.key(0));
    first[..common_prefix(last, first) + 1].to_vec()
}

fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}
