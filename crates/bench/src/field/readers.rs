//! Case h: the latency of a reader while another session commits.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use espalier_store::Edit;

use super::hosts::Hosts;
use super::report::Report;
use crate::dataset::expect;
use crate::harness::{Repetitions, Timing, measure};
use crate::row::Row;
use espalier_terminal::{Failure, Result};

/// The largest number of reads of each kind.
const READS_MAX: u64 = 20_000;

/// The largest number of edits in a large commit.
const EDITS_MAX: u64 = 10_000;

/// The number of different commits of the other session.
const COMMITS: u64 = 8;

/// Measures the case at a size.
pub fn run(report: &mut Report<'_>, size: u64) -> Result<()> {
    let mut hosts = Hosts::load(report, size)?;
    let idle = read(&mut hosts)?;
    let row = report.row(&hosts.store, "h: read one, idle", size);
    report.emit_one(row.timed(&idle))?;
    for (name, edits) in [
        ("h: read one, beside commits of one leaf", 1),
        ("h: read one, beside large commits", size.min(EDITS_MAX)),
    ] {
        let commits = commits(&mut hosts, edits)?;
        let (busy, made) = read_during_commits(&mut hosts, &commits)?;
        let row: Row = report.row(&hosts.store, name, size).timed(&busy);
        let row = row.note(format!(
            "{made} commits of {edits} edits meanwhile; idle p50 {:.2} us, p99 {:.2} us",
            idle.median_s * 1e6,
            idle.p99_s * 1e6
        ));
        report.emit_one(row)?;
    }
    Ok(())
}

fn read(hosts: &mut Hosts) -> Result<Timing> {
    let plan = Repetitions::many(READS_MAX.min(20 * hosts.size()));
    let paths = (0..plan.calls_max())
        .map(|_| {
            let number = hosts.choose();
            hosts.path(number)
        })
        .collect::<Result<Vec<_>>>()?;
    measure(
        plan,
        |call| hosts.store.read(&paths[call as usize]),
        |call, tree| {
            expect(tree.nodes.len() == 1, || {
                format!("read {call} returned nothing")
            })
        },
    )
}

/// Commits that each change something, whichever other one came before.
fn commits(hosts: &mut Hosts, edits: u64) -> Result<Vec<Vec<Edit>>> {
    (0..COMMITS)
        .map(|round| {
            (0..edits)
                .map(|n| {
                    let port = 300_000 + round * edits + n;
                    let leaf = Hosts::leaf(hosts.choose(), "port");
                    hosts.store.set(&leaf, &port.to_string())
                })
                .collect()
        })
        .collect()
}

/// Reads while another thread commits. Also returns the number of its commits.
fn read_during_commits(hosts: &mut Hosts, commits: &[Vec<Edit>]) -> Result<(Timing, u64)> {
    let (stop, made) = (AtomicBool::new(false), AtomicU64::new(0));
    let tree = hosts.store.tree.clone();
    thread::scope(|scope| {
        let writer = scope.spawn(|| -> Result<()> {
            for edits in commits.iter().cycle() {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                tree.commit(edits, Default::default())?;
                made.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        });
        while made.load(Ordering::Relaxed) == 0 && !writer.is_finished() {
            thread::yield_now();
        }
        let timing = read(hosts);
        stop.store(true, Ordering::Relaxed);
        let written = writer.join();
        written.map_err(|_| Failure::data("the other session failed"))??;
        Ok((timing?, made.load(Ordering::Relaxed)))
    })
}
