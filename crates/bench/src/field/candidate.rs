//! Case e: a few changes of a long list, through the candidate.

use espalier_store::{CommitOptions, Datastore, Edit};

use super::hosts::Hosts;
use super::report::{Change, Report, validation_note};
use crate::dataset::expect;
use crate::harness::{Repetitions, Timing, measure};
use crate::memory;
use espalier_terminal::Result;

/// The number of changes in a candidate.
const CHANGES: u64 = 10;

/// The number of times that the candidate is edited and committed.
const ROUNDS: u64 = 20;

/// Measures the case at a size.
pub fn run(report: &mut Report<'_>, size: u64) -> Result<()> {
    let mut hosts = Hosts::load(report, size)?;
    let rounds = (0..ROUNDS)
        .map(|round| {
            (0..CHANGES)
                .map(|n| {
                    let host = (round * CHANGES + n) * 7919 % size;
                    let port = 200_000 + round * CHANGES + n;
                    Change::set(&hosts.store, &Hosts::leaf(host, "port"), &port.to_string())
                })
                .collect::<Result<Vec<_>>>()
        })
        .collect::<Result<Vec<_>>>()?;
    let before = hosts.store.validation_cost();
    let (measured, bytes) = memory::growth_during(|| through_candidate(&hosts, &rounds));
    let (edited, committed) = measured?;
    let row = report.row(&hosts.store, "e: ten changes of a candidate", size);
    report.emit_one(row.timed(&edited))?;
    let row = report.row(&hosts.store, "e: commit the candidate", size);
    let row = row.timed(&committed);
    let row = row.note(validation_note(
        before,
        hosts.store.validation_cost(),
        ROUNDS,
    ));
    report.emit_one(row.note(format!(
        "private memory grew by at most {:.1} MB in {ROUNDS} rounds of {CHANGES} changes",
        bytes as f64 / f64::from(1 << 20)
    )))?;
    let discarded = discard(&mut hosts)?;
    let row = report.row(&hosts.store, "e: discard ten changes", size);
    report.emit_one(row.timed(&discarded))
}

/// Repeatedly edits and commits the candidate; returns the times of both.
fn through_candidate(hosts: &Hosts, rounds: &[Vec<Change>]) -> Result<(Timing, Timing)> {
    let store = &hosts.store;
    let candidate = store.tree.sibling_datastore(Datastore::Candidate, "")?;
    let once = Repetitions::once();
    let (mut edited, mut committed) = (Vec::new(), Vec::new());
    for changes in rounds {
        let edits: Vec<Edit> = changes
            .iter()
            .flat_map(|change| change.edits.clone())
            .collect();
        edited.push(measure(
            once,
            |_| Ok(candidate.commit(&edits, CommitOptions::default())?),
            |_, commit| expect(commit.is_changed, || "nothing was edited".to_owned()),
        )?);
        committed.push(measure(
            once,
            |_| Ok(candidate.commit_candidate(CommitOptions::default())?),
            |_, commit| {
                expect(commit.is_changed, || "nothing was committed".to_owned())?;
                changes.iter().try_for_each(|change| change.check(store))
            },
        )?);
    }
    Ok((Timing::combined(&edited)?, Timing::combined(&committed)?))
}

/// Repeatedly edits the candidate and discards the changes; returns the time of discarding.
fn discard(hosts: &mut Hosts) -> Result<Timing> {
    let count = CHANGES * ROUNDS;
    let changes = hosts.port_changes(count)?;
    let candidate = hosts
        .store
        .tree
        .sibling_datastore(Datastore::Candidate, "")?;
    let mut discarded = Vec::new();
    for changes in changes.chunks(CHANGES as usize) {
        let edits: Vec<Edit> = changes
            .iter()
            .flat_map(|change| change.edits.clone())
            .collect();
        candidate.commit(&edits, CommitOptions::default())?;
        discarded.push(measure(
            Repetitions::once(),
            |_| Ok(candidate.discard(CommitOptions::default())?),
            |_, ()| {
                expect(!candidate.has_changes()?, || {
                    "the candidate still has changes".to_owned()
                })
            },
        )?);
    }
    Timing::combined(&discarded)
}
