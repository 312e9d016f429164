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
        match last.map(|index| combine(&mut self.writes[index], &write)) {
            Some(Combined::Merged) => return,
            // It will be rejected, and must not be combined with valid writes.
            Some(Combined::OutOfRange) => drop(self.last.remove(&write.metric)),
            Some(Combined::Different) | None => {
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
        let newer = self.take();
        writes.extend(newer);
        for (index, write) in writes.iter().enumerate() {
            self.last.insert(write.metric.clone(), index);
        }
        self.writes = writes;
    }
}

/// The result of combining two writes.
enum Combined {
    /// The write is part of the other one.
    Merged,
    /// The writes differ in action or time.
    Different,
    /// A sum is out of range.
    OutOfRange,
}

/// Combines a write with the previous one, if possible.
fn combine(before: &mut Write, write: &Write) -> Combined {
    let is_same_kind = before.action == write.action
        && before.listing == write.listing
        && seconds(before.at) == seconds(write.at);
    if !is_same_kind || write.action == Action::Observe {
        return Combined::Different;
    }
    if write.action == Action::Assert {
        for (path, number) in &write.values {
            before.values.set(path.clone(), *number);
        }
    } else if before.values.add(&write.values).is_err() {
        return Combined::OutOfRange;
    }
    before.calls = before.calls.saturating_add(write.calls);
    Combined::Merged
}
