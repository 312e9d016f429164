//! Combines the records of all processes into a history.

use std::collections::{BTreeMap, HashMap};

use super::record::{Event, Record};
use super::search::Operation;
use super::sequential_model::{Act, Change, State};

/// All records of a run.
#[derive(Default)]
pub(super) struct RecordedHistory {
    calls: BTreeMap<u64, Record>,
    returns: HashMap<u64, Record>,
}

/// The number of operations by result.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct OutcomeCounts {
    pub(super) reads: usize,
    pub(super) committed: usize,
    pub(super) rejected: usize,
    pub(super) failed: usize,
    /// Operations whose process was killed, or whose outcome is unknown.
    pub(super) unknown: usize,
    /// Those of them that were applied.
    pub(super) unknown_committed: usize,
}

impl RecordedHistory {
    pub(super) fn add(&mut self, line: Record) {
        let operation = line.operation;
        let earlier = match line.event {
            Event::ReadStarted | Event::ChangeStarted(_) => self.calls.insert(operation, line),
            _ => self.returns.insert(operation, line),
        };
        assert_eq!(earlier, None, "an operation is recorded twice");
    }

    /// Writes all records to a file, for the analysis of a failure.
    pub(super) fn write_to_file(&self) {
        let lines = self.calls.values().chain(self.returns.values());
        let mut lines: Vec<_> = lines.collect();
        lines.sort_by_key(|line| line.at);
        let text: Vec<_> = lines.iter().map(|line| line.print()).collect();
        let name = format!("espalier-history-{}", std::process::id());
        let file = std::env::temp_dir().join(name);
        match std::fs::write(&file, text.join("\n")) {
            Ok(()) => println!("the records are in {}", file.display()),
            Err(error) => println!("the records cannot be written: {error}"),
        }
    }

    /// The history, given the receipts found at the end. Panics if an acknowledged commit left no receipt,
    /// or a failed one left one.
    pub(super) fn history(
        &self,
        receipts: &BTreeMap<u64, bool>,
    ) -> (Vec<Operation<Act>>, OutcomeCounts) {
        let (mut history, mut numbers) = (Vec::new(), OutcomeCounts::default());
        for (stamp, counts) in receipts {
            let event = self.calls.get(stamp).map(|call| &call.event);
            let is_known =
                matches!(event, Some(Event::ChangeStarted(change)) if change.counts == *counts);
            assert!(is_known, "a receipt without a commit: {stamp:#x}");
        }
        for call in self.calls.values() {
            let act = match &call.event {
                Event::ChangeStarted(change) => self.change(*change, receipts, &mut numbers),
                _ => self.read(call.operation, &mut numbers),
            };
            let returned = self.returns.get(&call.operation);
            let returned = match returned {
                Some(line) if line.event != Event::Unknown => line.at,
                _ => u64::MAX,
            };
            history.extend(act.map(|act| Operation {
                called: call.at,
                returned: Some(returned),
                act,
            }));
        }
        history.sort_by_key(|operation| operation.called);
        (history, numbers)
    }

    fn read(&self, operation: u64, numbers: &mut OutcomeCounts) -> Option<Act> {
        match &self.returns.get(&operation)?.event {
            Event::ReadResult(state, _) => {
                numbers.reads += 1;
                Some(Act::Read(state.clone()))
            }
            _ => None,
        }
    }

    fn change(
        &self,
        change: Change,
        receipts: &BTreeMap<u64, bool>,
        numbers: &mut OutcomeCounts,
    ) -> Option<Act> {
        let stamp = change.stamp;
        let is_there = receipts.contains_key(&stamp);
        match self.returns.get(&stamp).map(|line| &line.event) {
            Some(Event::Committed(_)) => {
                assert!(is_there, "an acknowledged commit is lost: {change:x?}");
                numbers.committed += 1;
            }
            Some(Event::Rejected) => {
                assert!(!is_there, "a rejected commit was applied: {change:x?}");
                numbers.rejected += 1;
                return Some(Act::Rejected(change));
            }
            Some(Event::Failed) => {
                assert!(
                    !is_there,
                    "a commit was applied that was reported as failed: {change:x?}"
                );
                numbers.failed += 1;
            }
            _ => {
                numbers.unknown += 1;
                numbers.unknown_committed += usize::from(is_there);
            }
        }
        is_there.then_some(Act::Committed(change))
    }

    /// Checks that versions define the order: a reader of a version sees in each register the latest
    /// acknowledged commit up to it, or one with an unknown outcome.
    pub(super) fn check_versions(&self) {
        let mut committed: BTreeMap<(usize, u64), Vec<u64>> = BTreeMap::new();
        let mut acknowledged = HashMap::new();
        for call in self.calls.values() {
            let returned = self.returns.get(&call.operation).map(|line| &line.event);
            if let (Event::ChangeStarted(change), Some(Event::Committed(version))) =
                (&call.event, returned)
            {
                let at = (change.register, *version);
                committed.entry(at).or_default().push(change.stamp);
                acknowledged.insert(change.stamp, *version);
            }
        }
        for line in self.returns.values() {
            if let Event::ReadResult(state, version) = &line.event {
                check_version(state, *version, &committed, &acknowledged);
            }
        }
    }
}

fn check_version(
    state: &State,
    version: u64,
    committed: &BTreeMap<(usize, u64), Vec<u64>>,
    acknowledged: &HashMap<u64, u64>,
) {
    for (register, stamp) in state.registers.iter().enumerate() {
        let latest = committed
            .range((register, 0)..=(register, version))
            .next_back();
        let is_right = match (latest, acknowledged.get(stamp)) {
            (Some((_, stamps)), Some(_)) => stamps.contains(stamp),
            (None, Some(_)) => false,
            (Some(_), None) => *stamp != 0,
            (None, None) => true,
        };
        assert!(
            is_right,
            "version {version} shows {stamp:#x} (of version {:?}) in register {register}, whose latest \
             commit is {latest:x?}",
            acknowledged.get(stamp)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The history of these records, with these receipts.
    fn history_of(
        lines: &[&str],
        receipts: &[(u64, bool)],
    ) -> (Vec<Operation<Act>>, OutcomeCounts) {
        let mut recorded = RecordedHistory::default();
        for line in lines {
            recorded.add(Record::parse(line).expect("a line"));
        }
        recorded.check_versions();
        recorded.history(&receipts.iter().copied().collect())
    }

    #[test]
    fn an_unknown_outcome_is_determined_by_the_receipt() {
        let lines = [
            "1 10 changes 0 any 1",
            "2 11 changes 0 any 0",
            "2 12 unknown",
            "3 13 changes 0 any 0",
            "3 14 unknown",
            "4 15 changes 0 any 0",
        ];
        let (history, numbers) = history_of(&lines, &[(1, true), (3, false)]);
        let stamps: Vec<_> = history
            .iter()
            .map(|committed| (committed.called, committed.returned))
            .collect();
        assert_eq!(stamps, [(10, Some(u64::MAX)), (13, Some(u64::MAX))]);
        assert_eq!((numbers.unknown, numbers.unknown_committed), (4, 2));
    }

    #[test]
    #[should_panic(expected = "an acknowledged commit is lost")]
    fn an_acknowledged_commit_leaves_a_receipt() {
        history_of(&["1 10 changes 0 any 1", "1 11 made 7"], &[]);
    }

    #[test]
    #[should_panic(expected = "a commit was applied that was reported as failed")]
    fn a_failed_commit_leaves_none() {
        history_of(&["1 10 changes 0 any 1", "1 11 failed"], &[(1, true)]);
    }

    #[test]
    #[should_panic(expected = "version 8 shows")]
    fn a_version_shows_the_latest_commit() {
        let lines = [
            "1 10 changes 0 any 0",
            "1 11 made 7",
            "2 12 changes 0 any 0",
            "2 13 made 8",
            "3 14 reads",
            "3 15 saw 8 0 1 0 0 0 0",
        ];
        history_of(&lines, &[(1, false), (2, false)]);
    }
}
