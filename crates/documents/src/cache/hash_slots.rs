//! A hash table of slots.

/// The slots of values by the hash of the value. A lookup reads one place in memory before the value itself: the
/// standard table reads two, which costs a fifth of a read by index.
#[derive(Default)]
pub(super) struct HashSlots {
    /// None, or a power of two; a slot is at the place of its hash, or at one of those after it.
    places: Vec<Place>,
    count: usize,
}

#[derive(Clone, Copy)]
struct Place {
    hash: u32,
    slot: u32,
}

/// No slot has this number ([`crate::limits::CACHED_MAX`]).
const NO_SLOT: u32 = u32::MAX;

const EMPTY: Place = Place {
    hash: 0,
    slot: NO_SLOT,
};

/// The number of places of the smallest table.
const PLACES_MIN: usize = 4;

impl HashSlots {
    /// The slot with this hash for which `is_sought` returns true.
    pub(super) fn find(&self, hash: u64, is_sought: impl Fn(u32) -> bool) -> Option<u32> {
        let place = self.place_of(hash as u32, is_sought)?;
        Some(self.places[place].slot)
    }

    /// Inserts a slot that is not included.
    pub(super) fn insert(&mut self, hash: u64, slot: u32) {
        if (self.count + 1) * 4 > self.places.len() * 3 {
            self.grow();
        }
        self.count += 1;
        self.put(Place {
            hash: hash as u32,
            slot,
        });
    }

    /// Removes a slot.
    pub(super) fn remove(&mut self, hash: u64, slot: u32) {
        let Some(mut hole) = self.place_of(hash as u32, |other| other == slot) else {
            return;
        };
        self.count -= 1;
        // What comes after the hole moves into it, unless it would then be before the place of its hash.
        let mask = self.places.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let next = self.places[at];
            if next.slot == NO_SLOT {
                break;
            }
            let distance = |from: usize| at.wrapping_sub(from) & mask;
            if distance(next.hash as usize & mask) >= distance(hole) {
                self.places[hole] = next;
                hole = at;
            }
        }
        self.places[hole] = EMPTY;
    }

    fn place_of(&self, hash: u32, is_sought: impl Fn(u32) -> bool) -> Option<usize> {
        let mask = self.places.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let place = self.places[at];
            if place.slot == NO_SLOT {
                return None;
            }
            if place.hash == hash && is_sought(place.slot) {
                return Some(at);
            }
            at = (at + 1) & mask;
        }
    }

    /// Stores a slot; a quarter of the places is empty.
    fn put(&mut self, place: Place) {
        let mask = self.places.len() - 1;
        let mut at = place.hash as usize & mask;
        while self.places[at].slot != NO_SLOT {
            at = (at + 1) & mask;
        }
        self.places[at] = place;
    }

    fn grow(&mut self) {
        let places = (self.places.len() * 2).max(PLACES_MIN);
        let before = std::mem::replace(&mut self.places, vec![EMPTY; places]);
        for place in before {
            if place.slot != NO_SLOT {
                self.put(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use espalier_testkit::seed;
    use rand::Rng;

    use super::*;

    #[test]
    fn slots_are_found_by_their_hash() {
        seed::run("hash slots", |random| {
            for _ in 0..20 {
                let (mut slots, mut model) = (HashSlots::default(), BTreeMap::new());
                // Few hashes: many slots are not at the place of their hash.
                let hashes = 1_u64 << random.random_range(1..20);
                for _ in 0..3000 {
                    let slot = random.random_range(0..500);
                    if let Some(hash) = model.remove(&slot) {
                        slots.remove(hash, slot);
                    } else {
                        let hash = random.random_range(0..hashes) * 0x1_0000_0001;
                        slots.insert(hash, slot);
                        model.insert(slot, hash);
                    }
                    let sought = random.random_range(0..500);
                    let hash = model.get(&sought).copied();
                    let found = slots.find(hash.unwrap_or(0), |slot| slot == sought);
                    assert_eq!(found.is_some(), hash.is_some());
                }
                assert_eq!(slots.count, model.len());
                for (slot, hash) in model {
                    slots.remove(hash, slot);
                }
                assert!(slots.places.iter().all(|place| place.slot == NO_SLOT));
            }
        });
    }
}
