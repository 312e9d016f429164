//! Writes that wait, added up where that changes nothing.

use std::collections::HashMap;

use crate::calendar::seconds;
use crate::{Action, Metric, Write};

/// Writes that wait, in order.
#[derive(Default)]
pub(super) struct Pending {
    writes: Vec<Write>,
    /// The last write of each metric: only into that may another one go.
    last: HashMap<Metric, usize>,
}

impl Pending {
    /// How many writes wait.
    pub(super) fn len(&self) -> usize {
        self.writes.len()
    }

    /// Takes a write; into the last of its metric where both do the same in the same second.
    pub(super) fn push(&mut self, write: Write) {
        let last = self.last.get(&write.metric).copied();
        match last.map(|index| join(&mut self.writes[index], &write)) {
            Some(Join::Done) => return,
            // It will be refused, and nothing else should be with it.
            Some(Join::Impossible) => drop(self.last.remove(&write.metric)),
            Some(Join::Unlike) | None => {
                self.last.insert(write.metric.clone(), self.writes.len());
            }
        }
        self.writes.push(write);
    }

    /// All that wait.
    pub(super) fn take(&mut self) -> Vec<Write> {
        self.last.clear();
        std::mem::take(&mut self.writes)
    }

    /// Puts back what was taken, before what came since.
    pub(super) fn put_back(&mut self, mut writes: Vec<Write>) {
        let since = self.take();
        writes.extend(since);
        for (index, write) in writes.iter().enumerate() {
            self.last.insert(write.metric.clone(), index);
        }
        self.writes = writes;
    }
}

/// What became of putting a write into another.
enum Join {
    /// It is in the other.
    Done,
    /// The two do different things, or at different times.
    Unlike,
    /// A sum does not fit.
    Impossible,
}

/// Puts a write into the one before it, where the two may be one.
fn join(before: &mut Write, write: &Write) -> Join {
    let alike = before.action == write.action
        && before.listing == write.listing
        && seconds(before.at) == seconds(write.at);
    if !alike || write.action == Action::Observe {
        return Join::Unlike;
    }
    if write.action == Action::Assert {
        for (path, number) in &write.values {
            before.values.set(path.clone(), *number);
        }
    } else if before.values.add(&write.values).is_err() {
        return Join::Impossible;
    }
    before.calls = before.calls.saturating_add(write.calls);
    Join::Done
}
