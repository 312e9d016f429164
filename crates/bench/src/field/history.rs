//! Many commits of one leaf: the rate, the memory and the disk space must not depend on the number of commits made before.

use std::time::{Duration, Instant};

use espalier_store::{Edit, RETENTION_VERSIONS_DEFAULT, Retention};

use super::hosts::Hosts;
use super::report::Report;
use crate::dataset::expect;
use crate::harness::{Repetitions, cpu_time, measure};
use crate::memory::own_private_bytes;
use espalier_terminal::Result;

/// The number of hosts in the store.
const HOSTS: u64 = 1000;

/// The number of commits whose rate is measured: the first ones and the last ones.
const WINDOW: u64 = 10_000;

/// The age of the oldest version, where the retention is by age.
const AGE: Duration = Duration::from_secs(1);

/// The rate of a window, and what the store needed at its end.
struct Window {
    rate: f64,
    /// Processor time of a commit, in seconds.
    cpu_s: f64,
    memory: u64,
    disk: u64,
}

/// Measures the case with a number of commits, with a retention by count and by age.
pub fn run(report: &mut Report<'_>, commits: u64) -> Result<()> {
    let by_count = Retention {
        versions: RETENTION_VERSIONS_DEFAULT,
        age: None,
    };
    let by_age = Retention {
        versions: u64::MAX,
        age: Some(AGE),
    };
    for (name, retention) in [
        ("history: commit, versions kept by count", by_count),
        ("history: commit, versions kept by age", by_age),
    ] {
        let hosts = Hosts::load(report, HOSTS)?;
        hosts.store.tree.set_retention(retention)?;
        let edits = alternating_ports(&hosts)?;
        let mut windows = None;
        let timing = measure(
            Repetitions::once(),
            |_| commit_all(&hosts, &edits, commits),
            |_, measured| {
                windows = Some(measured);
                Ok(())
            },
        )?;
        let row = report.row(&hosts.store, name, commits);
        let row = row.timed(&timing.per_operation(commits));
        let note = windows.map_or_else(String::new, |(first, last)| note(&first, &last));
        report.emit(&row.note(note))?;
    }
    Ok(())
}

/// Two changes of the port of each host. Each commit changes a leaf if they are made in order, again and again.
fn alternating_ports(hosts: &Hosts) -> Result<Vec<Edit>> {
    let edit = |n: u64| {
        let (host, round) = (n % HOSTS, n / HOSTS);
        let port = (round + 2) * 100_000 + host;
        let path = Hosts::leaf(host, "port");
        hosts.store.set(&path, &port.to_string())
    };
    (0..2 * HOSTS).map(edit).collect()
}

/// Makes the commits; returns the first and the last window.
fn commit_all(hosts: &Hosts, edits: &[Edit], commits: u64) -> Result<(Window, Window)> {
    let window = WINDOW.min(commits / 2).max(1);
    let mut made = 0;
    let mut measured = |count: u64| -> Result<Window> {
        let (start, cpu) = (Instant::now(), cpu_time());
        for _ in 0..count {
            let edit = &edits[(made % edits.len() as u64) as usize];
            let commit = hosts.store.commit(std::slice::from_ref(edit))?;
            expect(commit.is_changed, || format!("commit {made} did nothing"))?;
            made += 1;
        }
        let cpu = cpu_time().saturating_sub(cpu);
        Ok(Window {
            cpu_s: cpu.as_secs_f64() / count as f64,
            rate: count as f64 / start.elapsed().as_secs_f64().max(f64::EPSILON),
            memory: own_private_bytes(),
            disk: hosts.store.tree.store().driver().usage()?.bytes,
        })
    };
    let first = measured(window)?;
    measured(commits - 2 * window)?;
    Ok((first, measured(window)?))
}

fn note(first: &Window, last: &Window) -> String {
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    format!(
        "first {:.0}/s, last {:.0}/s: x{:.2}; processor {:.1} us, then {:.1}: x{:.2}; memory {:.1} MB, then {:.1}; disk {:.1} MB, then {:.1}",
        first.rate,
        last.rate,
        last.rate / first.rate,
        first.cpu_s * 1e6,
        last.cpu_s * 1e6,
        last.cpu_s / first.cpu_s,
        megabytes(first.memory),
        megabytes(last.memory),
        megabytes(first.disk),
        megabytes(last.disk),
    )
}
