//! Slots in the order of what they hold, in runs of contiguous memory: a scan iterates over arrays, and the
//! cost of one insertion hardly depends on the size.

use std::cmp::Ordering;

// 5,000 entries take 55 us, in a `BTreeMap` 81: docs/decisions/0045.
/// The maximum number of slots in a run: 4 KiB, which an insertion moves at most.
const RUN_MAX: usize = 1024;

/// Slots of a [`super::slab::Slab`], in an order that the caller defines: each method is called with a function
/// that compares the content of a slot with what is sought.
#[derive(Default)]
pub(super) struct SlotRuns {
    /// No run is empty.
    runs: Vec<Vec<u32>>,
}

/// A position between two slots.
#[derive(Clone, Copy)]
pub(super) struct Position {
    run: usize,
    place: usize,
}

impl SlotRuns {
    /// Whether there are no slots.
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// All slots in order.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = u32> {
        self.runs.iter().flatten().copied()
    }

    /// The first position whose slot is not before what is sought.
    pub(super) fn position(&self, is_before: impl Fn(u32) -> bool) -> Position {
        let run = self.run_of(&is_before);
        let slots = self.runs.get(run).map_or(&[][..], Vec::as_slice);
        let place = slots.partition_point(|slot| is_before(*slot));
        Position { run, place }
    }

    /// The position after all slots.
    pub(super) fn end(&self) -> Position {
        let run = self.runs.len();
        Position { run, place: 0 }
    }

    /// The slots between two positions, in order.
    pub(super) fn range(
        &self,
        from: Position,
        to: Position,
    ) -> impl DoubleEndedIterator<Item = u32> {
        let runs = self.runs.iter().enumerate();
        let runs = runs.take(to.run.saturating_add(1)).skip(from.run);
        runs.flat_map(move |(run, slots)| {
            let end = if run == to.run { to.place } else { slots.len() };
            let start = if run == from.run { from.place } else { 0 };
            slots[start.min(end)..end].iter().copied()
        })
    }

    /// The slot that equals what is sought.
    pub(super) fn find(&self, order: impl Fn(u32) -> Ordering) -> Option<u32> {
        let at = self.place_of(order)?;
        Some(self.runs[at.run][at.place])
    }

    /// The position of the slot that equals what is sought.
    fn place_of(&self, order: impl Fn(u32) -> Ordering) -> Option<Position> {
        let mut at = self.position(|slot| order(slot).is_lt());
        if at.place == self.runs.get(at.run)?.len() {
            at = Position {
                run: at.run + 1,
                place: 0,
            };
        }
        let slot = self.runs.get(at.run)?.get(at.place)?;
        order(*slot).is_eq().then_some(at)
    }

    /// The index of the last run that begins before what is sought, or the first run.
    fn run_of(&self, is_before: &impl Fn(u32) -> bool) -> usize {
        // Most keys are inserted in ascending order.
        if self.runs.last().is_some_and(|run| is_before(run[0])) {
            return self.runs.len() - 1;
        }
        let after = self.runs.partition_point(|run| is_before(run[0]));
        after.saturating_sub(1)
    }

    /// Inserts a slot that is not included; `order` compares another slot with it.
    pub(super) fn insert(&mut self, slot: u32, order: impl Fn(u32) -> Ordering) {
        if let Some(run) = self.runs.last_mut()
            && run.len() < RUN_MAX
            && run.last().is_some_and(|last| order(*last).is_lt())
        {
            // Most keys are inserted in ascending order: only the last run is accessed, because the others
            // may not be in the CPU cache.
            return run.push(slot);
        }
        let Position { mut run, mut place } = self.position(|slot| order(slot).is_lt());
        let Some(slots) = self.runs.get_mut(run) else {
            // Most lists are short: space for one run.
            self.runs.reserve_exact(1);
            self.runs.push(vec![slot]);
            return;
        };
        if slots.len() == RUN_MAX {
            // Most keys are inserted in ascending order: a full run then stays full.
            let kept = if place == RUN_MAX { place } else { RUN_MAX / 2 };
            let upper = slots.split_off(kept);
            slots.shrink_to_fit();
            self.runs.insert(run + 1, upper);
            if place >= kept {
                run += 1;
                place -= kept;
            }
        }
        self.runs[run].insert(place, slot);
    }

    /// Removes the slot that equals what is sought, and returns it.
    pub(super) fn remove(&mut self, order: impl Fn(u32) -> Ordering) -> Option<u32> {
        let Position { run, place } = self.place_of(order)?;
        let slots = &mut self.runs[run];
        let removed = slots.remove(place);
        let left = slots.len();
        if left == 0 {
            self.runs.remove(run);
            return Some(removed);
        }
        let next = self.runs.get(run + 1).map(Vec::len);
        if next.is_some_and(|next| left + next <= RUN_MAX / 2) {
            let mut next = self.runs.remove(run + 1);
            self.runs[run].append(&mut next);
        }
        Some(removed)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use espalier_testkit::seed;
    use rand::Rng;

    use super::*;

    fn check(runs: &SlotRuns, model: &BTreeSet<u32>, bounds: [u32; 2]) {
        assert!(runs.iter().eq(model.iter().copied()));
        assert!(runs.iter().rev().eq(model.iter().rev().copied()));
        assert_eq!(runs.is_empty(), model.is_empty());
        for run in &runs.runs {
            assert!((1..=RUN_MAX).contains(&run.len()));
        }
        let [from, to] = bounds.map(|bound| runs.position(|slot| slot < bound));
        if bounds[0] <= bounds[1] {
            let expected = || model.range(bounds[0]..bounds[1]).copied();
            assert!(runs.range(from, to).eq(expected()));
            assert!(runs.range(from, to).rev().eq(expected().rev()));
            let rest = model.range(bounds[0]..).copied();
            assert!(runs.range(from, runs.end()).eq(rest));
        }
        for bound in bounds {
            let found = runs.find(|slot| slot.cmp(&bound));
            assert_eq!(found, model.get(&bound).copied());
        }
    }

    #[test]
    fn runs_equal_a_btree_set() {
        seed::run("runs", |random| {
            for round in 0..20 {
                let (mut runs, mut model) = (SlotRuns::default(), BTreeSet::new());
                let keys = 1 << random.random_range(1..15);
                for step in 0..8000_u32 {
                    let in_order = round % 2 == 0 && step < 4000;
                    let key = match in_order {
                        true => step,
                        false => random.random_range(0..keys),
                    };
                    if in_order || random.random_range(0..10) < 3 + 4 * (round % 2) {
                        if model.insert(key) {
                            runs.insert(key, |slot| slot.cmp(&key));
                        }
                    } else {
                        let removed = runs.remove(|slot| slot.cmp(&key));
                        assert_eq!(removed.is_some(), model.remove(&key));
                    }
                }
                let bounds = [random.random_range(0..keys), random.random_range(0..keys)];
                check(&runs, &model, bounds);
                for key in 0..keys.max(4000) {
                    if random.random_ratio(9, 10) {
                        runs.remove(|slot| slot.cmp(&key));
                        model.remove(&key);
                    }
                }
                check(&runs, &model, bounds);
            }
        });
    }
}
