//! Intersection and union of lists of documents.

/// Which documents are in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetOperation {
    /// Those that are in every list.
    Intersection,
    /// Those that are in at least one list.
    Union,
}

/// The intersection or union of the lists, each key once, in order.
pub(crate) fn combine<D>(mut lists: Vec<Vec<(u64, D)>>, operation: SetOperation) -> Vec<(u64, D)> {
    for list in &mut lists {
        // Documents whose value begins with the queried one are in the order of their full values.
        if !list.is_sorted_by_key(|(key, _)| *key) {
            list.sort_by_key(|(key, _)| *key);
        }
        list.dedup_by_key(|(key, _)| *key);
    }
    match operation {
        SetOperation::Intersection => {
            lists.sort_by_key(Vec::len);
            let mut lists = lists.into_iter();
            let mut joined = lists.next().unwrap_or_default();
            for list in lists {
                let mut others = list.into_iter().map(|(key, _)| key).peekable();
                joined.retain(|(key, _)| {
                    while others.next_if(|other| other < key).is_some() {}
                    others.peek() == Some(key)
                });
            }
            joined
        }
        SetOperation::Union => {
            let mut joined: Vec<_> = lists.into_iter().flatten().collect();
            joined.sort_by_key(|(key, _)| *key);
            joined.dedup_by_key(|(key, _)| *key);
            joined
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn lists_are_combined_like_sets() {
        let lists: [&[u64]; 3] = [&[5, 1, 3, 3, 9], &[1, 2, 3, 5, 8], &[9, 5, 3, 3]];
        for count in 0..=lists.len() {
            let sets: Vec<BTreeSet<u64>> = lists[..count]
                .iter()
                .map(|list| list.iter().copied().collect())
                .collect();
            let any: BTreeSet<u64> = sets.iter().flatten().copied().collect();
            let all = any
                .iter()
                .filter(|key| sets.iter().all(|set| set.contains(key)));
            let all: Vec<u64> = all.copied().collect();
            let keys = |operation| -> Vec<u64> {
                let lists = lists[..count].iter().map(|list| {
                    let list = list.iter().map(|key| (*key, ()));
                    list.collect()
                });
                let joined = combine(lists.collect(), operation).into_iter();
                joined.map(|(key, ())| key).collect()
            };
            assert_eq!(keys(SetOperation::Intersection), all, "{count} lists");
            assert_eq!(
                keys(SetOperation::Union),
                any.into_iter().collect::<Vec<_>>(),
                "{count} lists"
            );
        }
    }
}
