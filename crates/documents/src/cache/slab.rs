//! Values at numbered places, in chunks of contiguous memory.

use crate::limits::CACHED_MAX;

/// The number of values in a chunk, a power of two. Chunks do not move when the slab grows, so growth needs no
/// second copy of everything.
const CHUNK: usize = 1024;

/// Values by slot: a number that stays the same until the value is removed, and half the size of a pointer.
pub(super) struct Slab<V> {
    /// All are full except for the last one.
    chunks: Vec<Vec<V>>,
    /// The slots without a value.
    free: Vec<u32>,
}

impl<V> Default for Slab<V> {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<V: Default> Slab<V> {
    /// Whether so many more values can be inserted.
    pub(super) fn has_room(&self, more: usize) -> bool {
        self.places() - self.free.len() + more <= CACHED_MAX
    }

    /// The number of slots, with or without a value.
    fn places(&self) -> usize {
        let last = self.chunks.last().map_or(0, Vec::len);
        self.chunks.len().saturating_sub(1) * CHUNK + last
    }

    /// Stores a value, for which there must be room, and returns its slot.
    pub(super) fn insert(&mut self, value: V) -> u32 {
        if let Some(slot) = self.free.pop() {
            *self.get_mut(slot) = value;
            return slot;
        }
        let slot = self.places() as u32;
        match self.chunks.last_mut() {
            Some(last) if last.len() < CHUNK => last.push(value),
            _ => self.chunks.push(vec![value]),
        }
        slot
    }

    /// Whether a value was ever stored in a slot.
    pub(super) fn has(&self, slot: u32) -> bool {
        (slot as usize) < self.places()
    }

    /// The value of a slot; the default if it was removed.
    pub(super) fn get(&self, slot: u32) -> &V {
        let slot = slot as usize;
        &self.chunks[slot / CHUNK][slot % CHUNK]
    }

    /// The value of a slot.
    pub(super) fn get_mut(&mut self, slot: u32) -> &mut V {
        let slot = slot as usize;
        &mut self.chunks[slot / CHUNK][slot % CHUNK]
    }

    /// Takes the value of a slot, which is used again.
    pub(super) fn remove(&mut self, slot: u32) -> V {
        self.free.push(slot);
        std::mem::take(self.get_mut(slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_holds_its_value_until_it_is_removed() {
        let mut slab = Slab::default();
        let count = 2 * CHUNK as u32 + 3;
        for number in 0..count {
            assert_eq!(slab.insert(number), number);
        }
        for number in (0..count).step_by(7) {
            assert_eq!(slab.remove(number), number);
        }
        let removed = slab.free.clone();
        let mut used: Vec<_> = removed.iter().map(|_| slab.insert(u32::MAX)).collect();
        used.reverse();
        assert_eq!(used, removed);
        for number in 0..count {
            let expected = match number % 7 {
                0 => u32::MAX,
                _ => number,
            };
            assert_eq!(*slab.get(number), expected);
        }
        assert_eq!(slab.insert(0), count);
        assert!(slab.has_room(1000) && !slab.has_room(CACHED_MAX - 1000));
    }
}
