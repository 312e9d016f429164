//! A sorted map from document keys to values, stored in runs of contiguous memory: a scan iterates over
//! arrays, and the cost of one insertion hardly depends on the size.

// 5,000 entries take 55 us, in a `BTreeMap` 81: docs/decisions/0045.
/// The maximum number of entries in a run.
const RUN_MAX: usize = 256;

/// Values in the order of keys.
pub(super) struct Runs<D> {
    /// No run is empty.
    runs: Vec<Vec<(u64, D)>>,
}

impl<D> Default for Runs<D> {
    fn default() -> Self {
        Self { runs: Vec::new() }
    }
}

impl<D> Runs<D> {
    /// Whether there are no entries.
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// All entries in order.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &D)> {
        let entries = self.runs.iter().flatten();
        entries.map(|(key, value)| (*key, value))
    }

    /// The index of the run that has a key, or would have it.
    fn run_of(&self, key: u64) -> usize {
        // Most keys are inserted in ascending order.
        if self.runs.last().is_some_and(|run| run[0].0 <= key) {
            return self.runs.len() - 1;
        }
        let after = self.runs.partition_point(|run| run[0].0 <= key);
        after.saturating_sub(1)
    }

    /// Sets the value of a key.
    pub(super) fn insert(&mut self, key: u64, value: D) {
        if let Some(run) = self.runs.last_mut()
            && run.len() < RUN_MAX
            && run.last().is_some_and(|(last, _)| *last < key)
        {
            // Most keys are inserted in ascending order: only the last run is accessed, because the others
            // may not be in the CPU cache.
            return run.push((key, value));
        }
        let mut at = self.run_of(key);
        let Some(run) = self.runs.get_mut(at) else {
            self.runs.push(vec![(key, value)]);
            return;
        };
        let place = match run.last() {
            Some((last, _)) if *last < key => Err(run.len()),
            _ => run.binary_search_by_key(&key, |(key, _)| *key),
        };
        let mut place = match place {
            Ok(place) => {
                run[place].1 = value;
                return;
            }
            Err(place) => place,
        };
        if run.len() == RUN_MAX {
            // Most keys are inserted in ascending order: a full run then stays full.
            let kept = if place == RUN_MAX { place } else { RUN_MAX / 2 };
            let upper = run.split_off(kept);
            self.runs.insert(at + 1, upper);
            if place >= kept {
                at += 1;
                place -= kept;
            }
        }
        self.runs[at].insert(place, (key, value));
    }

    /// Removes a key.
    pub(super) fn remove(&mut self, key: u64) {
        let at = self.run_of(key);
        let Some(run) = self.runs.get_mut(at) else {
            return;
        };
        let Ok(place) = run.binary_search_by_key(&key, |(key, _)| *key) else {
            return;
        };
        run.remove(place);
        let left = run.len();
        if left == 0 {
            self.runs.remove(at);
            return;
        }
        let next = self.runs.get(at + 1).map(Vec::len);
        if next.is_some_and(|next| left + next <= RUN_MAX / 2) {
            let mut next = self.runs.remove(at + 1);
            self.runs[at].append(&mut next);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use espalier_testkit::seed;
    use rand::Rng;

    use super::*;

    fn check(runs: &Runs<u64>, model: &BTreeMap<u64, u64>) {
        let all: Vec<_> = runs.iter().map(|(key, value)| (key, *value)).collect();
        let expected: Vec<_> = model.iter().map(|(key, value)| (*key, *value)).collect();
        assert_eq!(all, expected);
        let mut back: Vec<_> = runs.iter().rev().map(|(key, _)| key).collect();
        back.reverse();
        assert!(back.iter().eq(model.keys()));
        assert_eq!(runs.is_empty(), model.is_empty());
        for run in &runs.runs {
            assert!((1..=RUN_MAX).contains(&run.len()));
        }
    }

    #[test]
    fn runs_equal_a_btree_map() {
        seed::run("runs", |random| {
            for round in 0..20 {
                let (mut runs, mut model) = (Runs::default(), BTreeMap::new());
                let keys = 1 << random.random_range(1..14);
                for step in 0..4000_u64 {
                    let in_order = round % 2 == 0 && step < 2000;
                    let key = match in_order {
                        true => step,
                        false => random.random_range(0..keys),
                    };
                    if in_order || random.random_range(0..10) < 3 + 4 * (round % 2) {
                        runs.insert(key, step);
                        model.insert(key, step);
                    } else {
                        runs.remove(key);
                        model.remove(&key);
                    }
                }
                check(&runs, &model);
                for key in 0..keys.max(2000) {
                    if random.random_ratio(9, 10) {
                        runs.remove(key);
                        model.remove(&key);
                    }
                }
                check(&runs, &model);
            }
        });
    }
}
