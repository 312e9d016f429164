//! A worker process: it gets its job on standard input, and prints its results.

use std::io::{BufRead, Stdin, Write};
use std::thread;
use std::time::{Duration, Instant};

use espalier_store::Selection;
use espalier_yang::Value;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::dataset::{ReceivedEntries, expect};
use crate::harness::cpu_time;
use crate::scale::Fixture;
use espalier_terminal::Result;

/// The interval at which a process checks whether a change is visible.
const POLL_INTERVAL: Duration = Duration::from_micros(200);

/// The line that a worker prints when its store is open.
pub const READY: &str = "ready";

/// The job of a process. It is passed on the first line of standard input, not as an argument, as URLs can have
/// passwords in them.
#[derive(Debug, Deserialize, Serialize)]
pub struct Job {
    /// The store, with its policy.
    pub url: String,
    /// The number of entries of the store.
    pub size: u64,
    /// The task.
    pub task: Task,
}

/// The task of a worker.
#[derive(Debug, Deserialize, Serialize)]
pub enum Task {
    /// Read entries for some time, beginning with the next line of the input, and print [`ReadResult`].
    Read {
        /// The time to read, in seconds.
        seconds: f64,
        /// The seed of the random entries.
        seed: u64,
    },
    /// Print the time when each of the changes becomes visible, by [`now_ns`].
    ReportVisibility {
        /// The number of changes.
        changes: u64,
    },
}

/// The result of reading.
#[derive(Debug, Deserialize, Serialize)]
pub struct ReadResult {
    /// The number of entries read.
    pub reads: u64,
    /// The processor time that this process needed.
    pub cpu_s: f64,
}

/// The text of the first entry after a change.
pub fn text_of(change: u64) -> String {
    format!("change {change}")
}

/// The machine's monotonic clock in nanoseconds, the same for all processes.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Runs the job on standard input.
pub fn run() -> Result<()> {
    let input = std::io::stdin();
    let job: Job = serde_json::from_str(&read_line(&input)?).map_err(std::io::Error::from)?;
    let fixture = Fixture::open(&job.url)?;
    write_line(READY)?;
    match job.task {
        Task::Read { seconds, seed } => {
            read_line(&input)?;
            let read = read(&fixture, job.size, Duration::from_secs_f64(seconds), seed)?;
            write_line(&serde_json::to_string(&read).map_err(std::io::Error::from)?)
        }
        Task::ReportVisibility { changes } => (1..=changes).try_for_each(|change| {
            wait_for(&fixture, change)?;
            write_line(&now_ns().to_string())
        }),
    }
}

fn read_line(input: &Stdin) -> Result<String> {
    let mut line = String::new();
    input.lock().read_line(&mut line)?;
    Ok(line)
}

fn write_line(line: &str) -> Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{line}")?;
    Ok(output.flush()?)
}

fn entry(fixture: &Fixture, number: u64) -> Result<ReceivedEntries> {
    let mut received = ReceivedEntries::new(fixture.nodes);
    let path = fixture.nodes.path(number);
    fixture
        .tree
        .view()?
        .read(&path, &Selection::default(), &mut received)?;
    Ok(received)
}

fn read(fixture: &Fixture, size: u64, time: Duration, seed: u64) -> Result<ReadResult> {
    let mut random = StdRng::seed_from_u64(seed);
    let (mut reads, cpu, start) = (0, cpu_time(), Instant::now());
    while start.elapsed() < time {
        let number = random.random_range(0..size);
        entry(fixture, number)?.expect_entry(number)?;
        reads += 1;
    }
    let cpu_s = cpu_time().saturating_sub(cpu).as_secs_f64();
    Ok(ReadResult { reads, cpu_s })
}

fn wait_for(fixture: &Fixture, change: u64) -> Result<()> {
    let expected = Value::string(text_of(change));
    loop {
        let received = entry(fixture, 0)?;
        if received.text.as_ref() == Some(&expected) {
            return Ok(());
        }
        expect(received.entries == 1, || {
            "the first entry is gone".to_owned()
        })?;
        thread::sleep(POLL_INTERVAL);
    }
}
