//! A queue that groups concurrent commits into one transaction: the first thread becomes the leader, and
//! the next leader applies everything queued meanwhile.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use espalier_keyspace::{Batch, Committed, Error, Result, Version};
use parking_lot::{Condvar, Mutex};

/// Maximum bytes of the batches in one group: 16 MiB. The first batch is always taken.
const GROUP_BYTES_MAX: usize = 16 << 20;

/// The queue: one leader and the waiting commits.
#[derive(Default)]
pub(crate) struct CommitQueue {
    state: Mutex<QueueState>,
    turned: Condvar,
}

#[derive(Default)]
struct QueueState {
    leading: bool,
    waiting: VecDeque<Ticket>,
}

struct Ticket {
    batch: Batch,
    outcome: Arc<Outcome>,
}

#[derive(Default)]
struct Outcome {
    result: Mutex<Option<Result<Committed>>>,
}

/// Applies batches together; returns one result for each, in order.
pub(crate) type Apply<'a> = &'a dyn Fn(&[Batch]) -> Vec<Result<Version>>;

/// The guard of the leader. Dropping it, also in a panic, passes leadership on.
struct LeaderGuard<'a> {
    queue: &'a CommitQueue,
}

impl Drop for LeaderGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.state.lock();
        state.leading = false;
        self.queue.turned.notify_all();
    }
}

impl CommitQueue {
    /// Commits `batch`, alone or in a group, on this thread or another.
    pub(crate) fn commit(&self, batch: Batch, apply: Apply<'_>) -> Result<Committed> {
        let mut state = self.state.lock();
        if !state.leading && state.waiting.is_empty() {
            state.leading = true;
            drop(state);
            let _leader = LeaderGuard { queue: self };
            let result = apply(std::slice::from_ref(&batch)).pop();
            let version = result.unwrap_or_else(no_result)?;
            return Ok(Committed::alone(version, batch));
        }
        let outcome = Arc::<Outcome>::default();
        state.waiting.push_back(Ticket {
            batch,
            outcome: Arc::clone(&outcome),
        });
        loop {
            while state.leading && outcome.result.lock().is_none() {
                self.turned.wait(&mut state);
            }
            if let Some(result) = outcome.result.lock().take() {
                return result;
            }
            state.leading = true;
            let group = take_group(&mut state);
            drop(state);
            let leader = LeaderGuard { queue: self };
            apply_group(group, apply);
            drop(leader);
            state = self.state.lock();
        }
    }

    /// Runs `act` as the leader.
    pub(crate) fn lead<T>(&self, act: impl FnOnce() -> T) -> T {
        let mut state = self.state.lock();
        while state.leading {
            self.turned.wait(&mut state);
        }
        state.leading = true;
        drop(state);
        let _leader = LeaderGuard { queue: self };
        act()
    }
}

fn take_group(state: &mut QueueState) -> Vec<Ticket> {
    let mut bytes = 0;
    let mut group = Vec::new();
    while let Some(ticket) = state.waiting.pop_front() {
        bytes += ticket.batch.bytes();
        if bytes > GROUP_BYTES_MAX && !group.is_empty() {
            state.waiting.push_front(ticket);
            break;
        }
        group.push(ticket);
    }
    group
}

fn apply_group(group: Vec<Ticket>, apply: Apply<'_>) {
    let (batches, outcomes): (Vec<_>, Vec<_>) = group
        .into_iter()
        .map(|ticket| (ticket.batch, ticket.outcome))
        .unzip();
    let results = apply(&batches);
    let mut results = committed(batches, results).into_iter();
    for outcome in outcomes {
        *outcome.result.lock() = Some(results.next().unwrap_or_else(no_result));
    }
}

/// The result of each batch. For batches that share a version, one result has the step with all their
/// operations.
fn committed(batches: Vec<Batch>, results: Vec<Result<Version>>) -> Vec<Result<Committed>> {
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
