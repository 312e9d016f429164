//! The intersection of several index results.
//!
//! It is not known in advance which result is short: one value may occur in a million entries, another in
//! one. So a few items are fetched from each index, then more, until one index is exhausted; the result is the
//! intersection of all complete results. The cost is that of the shortest result.

use std::hash::Hash;

use rustc_hash::FxHashSet;

/// The number of items that are fetched first.
const FIRST_LIMIT: usize = 8;

/// The growth factor of that number per round. Also: results up to this many times longer than the
/// shortest one are still fetched to narrow it.
const GROWTH: usize = 8;

/// A result of at most this length needs no other to narrow it.
const SHORT: usize = 4;

/// How much of an index result was fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fetched {
    /// Nothing: there is no such index.
    NoIndex,
    /// The first `limit` items; there may be more.
    Partial,
    /// All items.
    Complete,
}

/// Intersects `count` index results, in the order of the shortest; `None` if there is no index. `fetch` is
/// called with the number of an index, from 0, the maximum number of items, and the vector to append them to.
pub(crate) fn intersect<I: Clone + Eq + Hash, E>(
    count: usize,
    mut fetch: impl FnMut(usize, usize, &mut Vec<I>) -> Result<Fetched, E>,
) -> Result<Option<Vec<I>>, E> {
    let mut limit = match count {
        1 => usize::MAX,
        _ => FIRST_LIMIT,
    };
    let mut open: Vec<usize> = (0..count).collect();
    while !open.is_empty() {
        let mut results = Vec::new();
        let mut unfinished = Vec::new();
        for &index in &open {
            let mut result = Vec::new();
            match fetch(index, limit, &mut result)? {
                Fetched::NoIndex => {}
                Fetched::Partial => unfinished.push(index),
                Fetched::Complete => results.push(result),
            }
        }
        if let Some(shortest) = results.iter().map(Vec::len).min() {
            let others = match shortest <= SHORT {
                true => &[][..],
                false => &unfinished,
            };
            for &index in others {
                let mut result = Vec::new();
                if fetch(index, shortest * GROWTH, &mut result)? == Fetched::Complete {
                    results.push(result);
                }
            }
            return Ok(Some(intersection(results)));
        }
        open = unfinished;
        limit = match open.len() {
            1 => usize::MAX,
            _ => limit.saturating_mul(GROWTH),
        };
    }
    Ok(None)
}

fn intersection<I: Clone + Eq + Hash>(mut results: Vec<Vec<I>>) -> Vec<I> {
    results.sort_by_key(Vec::len);
    let mut results = results.into_iter();
    let mut common = results.next().unwrap_or_default();
    for other in results {
        if common.is_empty() {
            break;
        }
        let other: FxHashSet<I> = other.into_iter().collect();
        common.retain(|item| other.contains(item));
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fetches from ranges of numbers; `None` has no index. Also returns the total number of fetched items.
    fn fetch(ranges: &[Option<std::ops::Range<u32>>]) -> (Option<Vec<u32>>, usize) {
        let mut fetched = 0;
        let found = intersect(ranges.len(), |index, limit, into| {
            let Some(range) = &ranges[index] else {
                return Ok::<_, std::convert::Infallible>(Fetched::NoIndex);
            };
            into.extend(range.clone().take(limit));
            fetched += into.len();
            Ok(match into.len() < range.len() {
                true => Fetched::Partial,
                false => Fetched::Complete,
            })
        });
        match found {
            Ok(found) => (found, fetched),
        }
    }

    #[test]
    fn intersects_all_complete_results() {
        assert_eq!(fetch(&[]).0, None);
        assert_eq!(fetch(&[None, None]).0, None);
        assert_eq!(fetch(&[Some(3..5)]).0, Some(vec![3, 4]));
        assert_eq!(fetch(&[Some(0..9), None, Some(7..12)]).0, Some(vec![7, 8]));
        assert_eq!(fetch(&[Some(0..3), Some(5..9)]).0, Some(vec![]));
    }

    #[test]
    fn a_long_result_is_not_fetched_completely() {
        let (found, fetched) = fetch(&[Some(0..1_000_000), Some(10..100), Some(0..2_000_000)]);
        assert_eq!(found, Some((10..100).collect()));
        assert!(fetched < 3_000, "{fetched} items were fetched");
        let (found, _) = fetch(&[Some(0..64), Some(60..76), Some(62..1_000_000)]);
        assert_eq!(found, Some((60..64).collect()));
        let (found, fetched) = fetch(&[Some(0..64), Some(63..65)]);
        assert_eq!(found, Some(vec![63, 64]));
        assert_eq!(fetched, 8 + 2);
        let (found, _) = fetch(&[None, Some(0..10_000)]);
        assert_eq!(found.map(|all| all.len()), Some(10_000));
    }
}
