//! A node's keys and values, packed into one buffer.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use super::slot::{OUT_OF_LINE, Slot, head, to_u32};

/// Maximum bytes of a page before it is split: 4 KiB. Smaller pages are copied faster; larger pages make
/// the tree shallower.
const PAGE_BYTES_MAX: usize = 4096;

/// Values up to this size are stored in the page; longer ones out of line, so that copies of the page share
/// them.
const INLINE_BYTES_MAX: usize = 1024;

/// Bytes of a common prefix that are stored without a separate allocation.
const PREFIX_BYTES: usize = 24;

/// Number of heads in one cache line, about.
const LINE_HEADS: usize = 8;

/// Free bytes reserved at the end of a page that was copied for a change, or has grown.
const SPARE_BYTES: usize = 256;

/// Number of keys for which space is reserved in such a page.
const SPARE_KEYS: usize = 8;

/// Ordered keys, each with a value.
#[derive(Default)]
pub(super) struct Page {
    /// For each key, the first bytes after the common prefix. Most comparisons need only these, and they
    /// are adjacent in memory: a search waits for memory once, not once per comparison.
    heads: Vec<u64>,
    /// The position of each entry.
    slots: Vec<Slot>,
    bytes: Vec<u8>,
    out_of_line: Vec<Arc<[u8]>>,
    /// The common prefix of all keys; stored inline, as every search compares it.
    prefix: SmallVec<[u8; PREFIX_BYTES]>,
    /// Bytes in the buffer that no entry uses any more.
    garbage: usize,
}

/// A value that is written to a page.
enum NewValue<'a> {
    Bytes(&'a [u8]),
    Shared(&'a Arc<[u8]>),
}

impl Page {
    /// Number of keys.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The key at an index.
    pub(super) fn key(&self, index: usize) -> &[u8] {
        &self.bytes[self.slots[index].key()]
    }

    /// The value at an index.
    pub(super) fn value(&self, index: usize) -> &[u8] {
        let slot = self.slots[index];
        match slot.is_out_of_line() {
            true => &self.out_of_line[slot.out_of_line_index()],
            false => &self.bytes[slot.key().end..slot.entry().end],
        }
    }

    /// Returns the index of a key, or the index where it would be inserted.
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
        let equal = self.heads[from..].partition_point(|&other| other == head);
        let equal = &self.slots[from..from + equal];
        let found = equal.binary_search_by(|slot| self.bytes[slot.key()][prefix..].cmp(rest));
        match found {
            Ok(index) => Ok(from + index),
            Err(index) => Err(from + index),
        }
    }

    /// Sets a key; returns its index, and the bytes of the replaced value.
    pub(super) fn set(&mut self, key: &[u8], value: &[u8]) -> (usize, Option<usize>) {
        match self.search(key) {
            Ok(index) => (index, Some(self.replace(index, value))),
            Err(index) => {
                self.insert(index, key, value);
                (index, None)
            }
        }
    }

    /// Replaces the value at an index; returns the bytes of the old value.
    pub(super) fn replace(&mut self, index: usize, value: &[u8]) -> usize {
        let before = self.value(index).len();
        let slot = self.slots[index];
        if before == value.len() && !slot.is_out_of_line() {
            self.bytes[slot.key().end..slot.entry().end].copy_from_slice(value);
            return before;
        }
        self.reserve(slot.key().len() + value.len().min(INLINE_BYTES_MAX), 0);
        self.discard(index);
        let at = self.bytes.len();
        self.bytes.extend_from_within(self.slots[index].key());
        let value = self.write_value(NewValue::Bytes(value));
        let slot = &mut self.slots[index];
        (slot.at, slot.value) = (to_u32(at), value);
        before
    }

    /// Inserts an absent key at its index.
    pub(super) fn insert(&mut self, index: usize, key: &[u8], value: &[u8]) {
        self.reserve(key.len() + value.len().min(INLINE_BYTES_MAX), 1);
        let slot = self.write(key, NewValue::Bytes(value));
        self.slots.insert(index, slot);
        self.heads.insert(index, 0);
        let common = common_prefix(key, &self.prefix);
        match self.slots.len() {
            1 => self.set_prefix_len(key.len()),
            _ if common < self.prefix.len() => self.set_prefix_len(common),
            _ => self.heads[index] = head(&key[common..]),
        }
    }

    /// Removes the key at an index; returns the bytes of its value.
    pub(super) fn remove(&mut self, index: usize) -> usize {
        let before = self.value(index).len();
        self.discard(index);
        self.slots.remove(index);
        self.heads.remove(index);
        self.compact_if_sparse();
        before
    }

    /// Removes the keys at a range of indexes.
    pub(super) fn remove_between(&mut self, range: Range<usize>) {
        range.clone().for_each(|index| self.discard(index));
        self.slots.drain(range.clone());
        self.heads.drain(range);
        self.compact_if_sparse();
    }

    /// Bytes of all keys and values.
    pub(super) fn content_bytes(&self) -> usize {
        let out_of_line: usize = self.out_of_line.iter().map(|value| value.len()).sum();
        self.bytes.len() - self.garbage + out_of_line
    }

    /// Bytes used in the page, without out-of-line values.
    fn size(&self) -> usize {
        let own = size_of::<u64>() + size_of::<Slot>();
        self.bytes.len() - self.garbage + self.slots.len() * own
    }

    /// Whether the page must be split.
    pub(super) fn is_over_full(&self) -> bool {
        self.size() > PAGE_BYTES_MAX && self.slots.len() > 1
    }

    /// Whether the page should be joined with a neighbour.
    pub(super) fn is_small(&self) -> bool {
        self.size() < PAGE_BYTES_MAX / 4
    }

    /// Whether this page and another fit into one, with spare space.
    pub(super) fn fits_with(&self, other: &Self) -> bool {
        self.size() + other.size() <= PAGE_BYTES_MAX / 4 * 3
    }

    /// The index to split at after an insertion: the middle. If keys are inserted in ascending order, the
    /// last key instead, so that the left page stays full.
    pub(super) fn split_index(&self, inserted: usize) -> usize {
        let last = self.slots.len() - 1;
        if inserted == last {
            return last;
        }
        let half = (self.bytes.len() - self.garbage) / 2;
        let mut bytes = 0;
        let split_index = self.slots.iter().position(|slot| {
            bytes += slot.entry().len();
            bytes > half
        });
        split_index.unwrap_or(last).clamp(1, last)
    }

    /// Splits the page: keeps the keys before an index, and returns the others.
    pub(super) fn split_off(&mut self, at: usize) -> Self {
        let is_in_order = at + 1 == self.slots.len();
        let right = self.copy_range(at..self.slots.len(), SPARE_BYTES, SPARE_KEYS);
        *self = match is_in_order {
            true => self.copy_range(0..at, 0, 0),
            false => self.copy_range(0..at, SPARE_BYTES, SPARE_KEYS),
        };
        right
    }

    /// Appends the keys of the next page.
    pub(super) fn append(&mut self, right: &Self) {
        self.reserve(right.bytes.len() - right.garbage, right.slots.len());
        for &slot in &right.slots {
            self.push(right, slot);
        }
        self.update_prefix();
    }

    /// Copies a range of entries to a new page with the given spare capacity.
    fn copy_range(&self, range: Range<usize>, spare_bytes: usize, spare_keys: usize) -> Self {
        let slots = &self.slots[range];
        let bytes: usize = slots.iter().map(|slot| slot.entry().len()).sum();
        let mut part = Self {
            heads: Vec::with_capacity(slots.len() + spare_keys),
            slots: Vec::with_capacity(slots.len() + spare_keys),
            bytes: Vec::with_capacity(bytes + spare_bytes),
            ..Self::default()
        };
        for &slot in slots {
            part.push(self, slot);
        }
        part.update_prefix();
        part
    }

    /// Appends an entry of another page, without its head.
    fn push(&mut self, from: &Self, slot: Slot) {
        let value = match slot.is_out_of_line() {
            true => NewValue::Shared(&from.out_of_line[slot.out_of_line_index()]),
            false => NewValue::Bytes(&from.bytes[slot.key().end..slot.entry().end]),
        };
        let slot = self.write(&from.bytes[slot.key()], value);
        self.slots.push(slot);
    }

    /// Writes a key and a value to the buffer, without the head.
    fn write(&mut self, key: &[u8], value: NewValue<'_>) -> Slot {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(key);
        Slot {
            at: to_u32(at),
            key: to_u32(key.len()),
            value: self.write_value(value),
        }
    }

    fn write_value(&mut self, value: NewValue<'_>) -> u32 {
        let out_of_line = match value {
            NewValue::Bytes(value) if value.len() <= INLINE_BYTES_MAX => {
                self.bytes.extend_from_slice(value);
                return to_u32(value.len());
            }
            NewValue::Bytes(value) => value.into(),
            NewValue::Shared(value) => Arc::clone(value),
        };
        self.out_of_line.push(out_of_line);
        OUT_OF_LINE | to_u32(self.out_of_line.len() - 1)
    }

    /// Counts the bytes of an entry as garbage, and drops an out-of-line value. The caller then removes or
    /// overwrites the slot.
    fn discard(&mut self, index: usize) {
        let slot = self.slots[index];
        self.garbage += slot.entry().len();
        if !slot.is_out_of_line() {
            return;
        }
        self.slots[index].value = 0;
        self.out_of_line.swap_remove(slot.out_of_line_index());
        let last = OUT_OF_LINE | to_u32(self.out_of_line.len());
        let moved = self.slots.iter_mut().find(|slot| slot.value == last);
        if let Some(moved) = moved {
            moved.value = slot.value;
        }
    }

    /// Reserves capacity; removes garbage first.
    fn reserve(&mut self, bytes: usize, slots: usize) {
        if self.bytes.capacity() - self.bytes.len() < bytes {
            match self.garbage > 0 {
                true => self.compact(bytes + SPARE_BYTES),
                false => {
                    let spare = SPARE_BYTES.max(self.bytes.len() / 4);
                    self.bytes.reserve_exact(bytes + spare);
                }
            }
        }
        if self.slots.capacity() - self.slots.len() < slots {
            let slots = slots + SPARE_KEYS.max(self.slots.len() / 4);
            self.slots.reserve_exact(slots);
            self.heads.reserve_exact(slots);
        }
    }

    fn compact_if_sparse(&mut self) {
        if self.garbage > SPARE_BYTES && self.garbage > self.bytes.len() / 2 {
            self.compact(0);
        }
    }

    /// Rewrites the buffer in key order and without garbage.
    fn compact(&mut self, spare: usize) {
        let live = self.bytes.len() - self.garbage;
        let mut packed = Vec::with_capacity(live + spare);
        for slot in &mut self.slots {
            let at = packed.len();
            packed.extend_from_slice(&self.bytes[slot.entry()]);
            slot.at = to_u32(at);
        }
        self.bytes = packed;
        self.garbage = 0;
    }

    fn update_prefix(&mut self) {
        let common = match self.slots.len() {
            0 => 0,
            count => common_prefix(self.key(0), self.key(count - 1)),
        };
        self.set_prefix_len(common);
    }

    /// Sets the length of the common prefix and recomputes the heads.
    fn set_prefix_len(&mut self, common: usize) {
        let first = self.slots.first();
        let first = first.map_or(&[][..], |first| &self.bytes[first.key()]);
        self.prefix = SmallVec::from_slice(&first[..common]);
        self.heads.clear();
        let keys = self.slots.iter().map(|slot| &self.bytes[slot.key()]);
        self.heads.extend(keys.map(|key| head(&key[common..])));
    }
}

/// A copy with spare capacity, as it is made for a change.
impl Clone for Page {
    fn clone(&self) -> Self {
        let mut heads = Vec::with_capacity(self.heads.len() + SPARE_KEYS);
        heads.extend_from_slice(&self.heads);
        let mut slots = Vec::with_capacity(self.slots.len() + SPARE_KEYS);
        slots.extend_from_slice(&self.slots);
        let mut bytes = Vec::with_capacity(self.bytes.len() + SPARE_BYTES);
        bytes.extend_from_slice(&self.bytes);
        Self {
            heads,
            slots,
            bytes,
            out_of_line: self.out_of_line.clone(),
            prefix: self.prefix.clone(),
            garbage: self.garbage,
        }
    }
}

/// Number of heads less than `head`, in ordered `heads`. The last head of each cache line determines the
/// line: the lines are loaded in parallel, and few heads are compared.
fn heads_before(heads: &[u64], head: u64) -> usize {
    let is_before = |other: &u64| usize::from(*other < head);
    let (lines, _) = heads.as_chunks::<LINE_HEADS>();
    let lines: usize = lines.iter().map(|[.., last]| is_before(last)).sum();
    let from = lines * LINE_HEADS;
    let line = heads[from..].iter().take(LINE_HEADS);
    from + line.map(is_before).sum::<usize>()
}

/// The shortest prefix of the first key of `right` that is greater than every key of `left`.
pub(super) fn separator(left: &Page, right: &Page) -> Vec<u8> {
    let (last, first) = (left.key(left.len() - 1), right.key(0));
    first[..common_prefix(last, first) + 1].to_vec()
}

fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}
