//! Case f: many one-leaf edits in one commit.

use espalier_store::Edit;

use super::hosts::Hosts;
use super::report::{Change, Report, validation_note};
use crate::dataset::expect;
use crate::harness::{Repetitions, measure};
use espalier_terminal::Result;

/// Changes of the port of every host, each as a separate edit.
fn round(hosts: &Hosts, size: u64, round: u64) -> Result<(Vec<Change>, Vec<Edit>)> {
    let changes = (0..size)
        .map(|n| {
            let host = n * 7919 % size;
            let port = 10_000 * (round + 1) + n % 5_000;
            Change::set(&hosts.store, &Hosts::leaf(host, "port"), &port.to_string())
        })
        .collect::<Result<Vec<_>>>()?;
    let edits = changes.iter().flat_map(|change| change.edits.clone());
    let edits = edits.collect();
    Ok((changes, edits))
}

/// Measures the case with `size` hosts and as many edits.
pub fn run(report: &mut Report<'_>, size: u64) -> Result<()> {
    let hosts = Hosts::load(report, size)?;
    let store = &hosts.store;
    let plan = Repetitions::few(5);
    let rounds = (0..=plan.calls_max())
        .map(|number| round(&hosts, size, number))
        .collect::<Result<Vec<_>>>()?;
    let before = store.validation_cost();
    let timing = measure(
        plan,
        |call| store.commit(&rounds[call as usize].1),
        |call, commit| {
            expect(commit.is_changed, || format!("commit {call} did nothing"))?;
            let changes = rounds[call as usize].0.iter();
            changes
                .step_by(97)
                .try_for_each(|change| change.check(store))
        },
    )?;
    let note = validation_note(before, store.validation_cost(), timing.n);
    let raw = store.raw_copy()?;
    let last = &rounds[plan.calls_max() as usize].1;
    let trace = store.record(|| store.commit(last).map(drop))?;
    let raw = raw.map(|raw| raw.replay(&[trace])).transpose()?;
    let row = report.row(store, "f: one-leaf edits in one commit", size);
    let row = row.timed(&timing).raw(raw.as_ref()).note(note);
    let each = timing.median_s / size as f64 * 1e6;
    report.emit(&row.note(format!("{size} edits, {each:.2} us each")))
}
