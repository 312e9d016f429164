//! Commits that come at once share a transaction: the first to come leads, and applies what has
//! queued up behind the leader before it.

use std::sync::Arc;

use espalier_keyspace::{Batch, Committed, Result, Version};
use parking_lot::{Condvar, Mutex};

/// The most bytes of batches that one leader takes at once: 16 MiB. The first is always taken.
const GROUP_BYTES_MAX: usize = 16 << 20;

/// Who leads, and who waits.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    turned: Condvar,
}

#[derive(Default)]
struct State {
    leading: bool,
    waiting: std::collections::VecDeque<Ticket>,
}

struct Ticket {
    batch: Batch,
    outcome: Arc<Outcome>,
}

#[derive(Default)]
struct Outcome {
    result: Mutex<Option<Result<Version>>>,
}

/// Applies batches together; one result for each, in order.
pub(crate) type Apply<'a> = &'a dyn Fn(&[Batch]) -> Vec<Result<Version>>;

/// Being the leader. Dropping it, in a panic too, passes the lead on.
struct Lead<'a> {
    queue: &'a Queue,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.state.lock();
        state.leading = false;
        self.queue.turned.notify_all();
    }
}

impl Queue {
    /// Has `batch` applied, alone or with others, by this thread or by another.
    pub(crate) fn commit(&self, batch: Batch, apply: Apply<'_>) -> Result<Committed> {
        let mut state = self.state.lock();
        if !state.leading && state.waiting.is_empty() {
            state.leading = true;
            drop(state);
            let _lead = Lead { queue: self };
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
                let step = None;
                return result.map(|version| Committed { version, step });
            }
            state.leading = true;
            let group = take_group(&mut state);
            drop(state);
            let lead = Lead { queue: self };
            apply_group(group, apply);
            drop(lead);
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
        let _lead = Lead { queue: self };
        act()
    }
}

fn take_group(state: &mut State) -> Vec<Ticket> {
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
    let mut results = apply(&batches).into_iter();
    for outcome in outcomes {
        *outcome.result.lock() = Some(results.next().unwrap_or_else(no_result));
    }
}

fn no_result() -> Result<Version> {
    Err(espalier_keyspace::Error::new(
        espalier_keyspace::ErrorKind::Engine,
        "the leader of a group of commits left one out",
    ))
}
