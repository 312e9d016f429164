//! Group commit of batches: one thread applies those of all that wait.

use std::collections::BTreeMap;

use espalier_keyspace::{Batch, Committed, Error, GroupQueue, Result, Version};

/// Maximum bytes of the batches in one group: 16 MiB. The first batch is always taken.
const GROUP_BYTES_MAX: usize = 16 << 20;

/// The queue: one leader and the waiting commits.
pub(crate) struct CommitQueue(GroupQueue<Batch, Result<Committed>>);

/// Applies batches together; returns one result for each, in order.
pub(crate) type Apply<'a> = &'a dyn Fn(&[Batch]) -> Vec<Result<Version>>;

impl Default for CommitQueue {
    fn default() -> Self {
        Self(GroupQueue::new(GROUP_BYTES_MAX, Batch::bytes))
    }
}

impl CommitQueue {
    /// Commits `batch`, alone or in a group, on this thread or another.
    pub(crate) fn commit(&self, batch: Batch, apply: Apply<'_>) -> Result<Committed> {
        let result = self.0.submit(batch, &|batches| {
            let results = apply(&batches);
            committed(batches, results)
        });
        result.unwrap_or_else(no_result)
    }

    /// Runs `act` as the leader.
    pub(crate) fn lead<T>(&self, act: impl FnOnce() -> T) -> T {
        self.0.lead(act)
    }
}

/// The result of each batch. For batches that share a version, one result has the step with all their
/// operations.
fn committed(mut batches: Vec<Batch>, results: Vec<Result<Version>>) -> Vec<Result<Committed>> {
    if batches.len() == 1 {
        let mut committed = |version| Committed::alone(version, batches.remove(0));
        let results = results.into_iter().take(1);
        return results.map(|result| result.map(&mut committed)).collect();
    }
    let mut steps = BTreeMap::<Version, Batch>::new();
    for (batch, result) in batches.into_iter().zip(&results) {
        if let Ok(version) = result {
            steps.entry(*version).or_default().append(batch);
        }
    }
    let mut committed = |version| match steps.remove(&version) {
        Some(batch) => Committed::alone(version, batch),
        None => Committed {
            version,
            step: None,
        },
    };
    let results = results.into_iter();
    results.map(|result| result.map(&mut committed)).collect()
}

fn no_result<T>() -> Result<T> {
    Err(espalier_keyspace::Error::new(
        espalier_keyspace::ErrorKind::Engine,
        "the leader of a commit group returned no result for a batch",
    ))
}

/// The results of a group that failed as a whole: the error for each batch.
pub(crate) fn fail_all(batches: &[Batch], error: Error) -> Vec<Result<Version>> {
    let kind = error.kind();
    let message = error.to_string();
    let mut results: Vec<_> = batches[1..]
        .iter()
        .map(|_| Err(Error::new(kind, message.clone())))
        .collect();
    results.insert(0, Err(error));
    results
}

#[cfg(test)]
mod tests {
    use espalier_keyspace::{Error, ErrorKind};

    use super::*;

    #[test]
    fn a_group_has_one_step_with_all_its_batches() {
        let batch = |key: &str| {
            let mut batch = Batch::new();
            batch.put(key, "value");
            batch
        };
        let batches = ["a", "b", "c", "d"].map(batch).to_vec();
        let refused = Error::new(ErrorKind::Conflict, "b");
        let versions = vec![Ok(Version(7)), Err(refused), Ok(Version(7)), Ok(Version(8))];
        let results: Vec<_> = committed(batches, versions).into_iter().collect();
        let steps = results.iter().map(|result| {
            let committed = result.as_ref().ok()?;
            let step = committed.step.as_ref()?;
            Some((step.from, step.batch.operations().len()))
        });
        let expected = [Some((Version(6), 2)), None, None, Some((Version(7), 1))];
        assert_eq!(steps.collect::<Vec<_>>(), expected);
        assert!(results[1].is_err());
        assert_eq!(results[2].as_ref().expect("committed").version, Version(7));
    }
}
