//! Buffered writes, combined where that does not change the result.

use std::collections::HashMap;

use crate::calendar::seconds;
use crate::{Action, Metric, Write};

/// Buffered writes, in order.
#[derive(Default)]
pub(super) struct Pending {
    writes: Vec<Write>,
    /// The index of the last write of each metric: only that one may be combined with the next.
    last: HashMap<Metric, usize>,
}

impl Pending {
    /// The number of buffered writes.
    pub(super) fn len(&self) -> usize {
        self.writes.len()
    }

    /// Adds a write; it is combined with the last one of its metric if both have the same action and second.
    pub(super) fn push(&mut self, write: Write) {
        let last = self.last.get(&write.metric).copied();
        match last.map(|index| join(&mut self.writes[index], &write)) {
            Some(Join::Done) => return,
            // It will be rejected, and must not be combined with valid writes.
            Some(Join::Impossible) => drop(self.last.remove(&write.metric)),
            Some(Join::Unlike) | None => {
                self.last.insert(write.metric.clone(), self.writes.len());
            }
        }
        self.writes.push(write);
    }

    /// Removes and returns all writes.
    pub(super) fn take(&mut self) -> Vec<Write> {
        self.last.clear();
        std::mem::take(&mut self.writes)
    }

    /// Puts writes back, before those added since.
    pub(super) fn put_back(&mut self, mut writes: Vec<Write>) {
        let since = self.take();
        writes.extend(since);
        for (index, write) in writes.iter().enumerate() {
            self.last.insert(write.metric.clone(), index);
        }
        self.writes = writes;
    }
}

/// The result of combining two writes.
enum Join {
    /// The write is part of the other one.
    Done,
    /// The writes differ in action or time.
    Unlike,
    /// A sum is out of range.
    Impossible,
}

/// Combines a write with the previous one, if possible.
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
