//! The main process, which starts the worker processes and measures.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use espalier_keyspace::Policy;
use espalier_store::CommitOptions;

use super::worker::{Job, READY, ReadResult, Task, now_ns, text_of};
use crate::configuration::{Configuration, StoreLocation, new_folder};
use crate::dataset::{expect, write_document};
use crate::harness::Timing;
use crate::output::Output;
use crate::row::Row;
use crate::scale::Fixture;
use espalier_terminal::{Failure, Result};

const SUITE: &str = "processes";

/// The number of concurrent worker processes.
const PROCESSES: u64 = 3;

/// The time for which the workers read, in seconds.
const SECONDS: f64 = 2.0;

/// The number of changes whose visibility is timed, and of those before that are not.
const CHANGES: u64 = 100;
const CHANGES_UNTIMED: u64 = 5;

/// Engines that only one process can open.
const SINGLE_PROCESS: [&str; 2] = ["memory", "file"];

/// The parameters of the suite.
pub struct Processes {
    /// Numbers of list entries, ascending.
    pub sizes: Vec<u64>,
    /// The engines with their policies; engines that only one process can open are skipped.
    pub configurations: Vec<Configuration>,
}

/// Runs the suite. Fails at the first wrong result.
pub fn run(processes: &Processes, output: &mut Output) -> Result<()> {
    let is_shared =
        |configuration: &&Configuration| !SINGLE_PROCESS.contains(&configuration.engine.scheme());
    let configurations: Vec<_> = processes.configurations.iter().filter(is_shared).collect();
    if configurations.is_empty() {
        return Err(Failure::usage(
            "processes measures engines that several processes can open at once; memory and file cannot be shared",
        ));
    }
    for &size in &processes.sizes {
        for configuration in &configurations {
            SharedStore::new(configuration, size)?.run(output)?;
        }
    }
    Ok(())
}

/// A store opened by several processes.
struct SharedStore<'a> {
    configuration: &'a Configuration,
    size: u64,
    location: StoreLocation,
    fixture: Fixture,
}

impl<'a> SharedStore<'a> {
    fn new(configuration: &'a Configuration, size: u64) -> Result<Self> {
        let mut location = configuration.location()?;
        // The location removes only a store that it has opened.
        drop(location.open()?);
        let fixture = Fixture::open(location.url())?;
        let folder = new_folder(&std::env::temp_dir())?;
        let document = folder.path().join("document.json");
        write_document(&document, size)?;
        fixture.load(&document)?;
        Ok(Self {
            configuration,
            size,
            location,
            fixture,
        })
    }

    fn run(&self, output: &mut Output) -> Result<()> {
        let alone = self.rate(1)?;
        let all = self.rate(PROCESSES)?;
        let times = all.per_second() / alone.per_second();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        output.add_row(
            &self
                .row("read one entry, 1 process")
                .timed(&alone.timing())
                .note(format!("{:.0} reads/s", alone.per_second())),
        )?;
        let name = format!("read one entry, {PROCESSES} processes");
        let row = self.row(&name).timed(&all.timing());
        output.add_row(&row.note(self.ratio_with_cores(&alone, &all)).note(format!(
            "{:.0} reads/s, {times:.2} times the rate of one process, on {cores} cores shared with \
             the engine",
            all.per_second()
        )))?;
        let name = format!("a change is visible in {PROCESSES} processes");
        output.add_row(
            &self
                .row(&name)
                .timed(&self.visibility()?)
                .note("from its acknowledgement until it is visible in the last of them"),
        )
    }

    /// A note on the ratio that more cores would allow. If reads need no engine, processes need only processor time;
    /// the processor time per read shows how much they slow each other down.
    fn ratio_with_cores(&self, alone: &Rate, all: &Rate) -> String {
        if self.configuration.policy != Policy::Cached {
            return String::new();
        }
        let times = PROCESSES as f64 * alone.timing().cpu_s / all.timing().cpu_s;
        format!("by processor time {times:.1} times the rate of one process if each has a core")
    }

    fn row(&self, name: &str) -> Row {
        Row::new(SUITE, name, self.configuration.labels(), self.size)
    }

    fn start_worker(&self, task: Task) -> Result<WorkerProcess> {
        WorkerProcess::start(&Job {
            url: self.configuration.with_policy(self.location.url()),
            size: self.size,
            task,
        })
    }

    /// The read rate of `count` concurrent processes.
    fn rate(&self, count: u64) -> Result<Rate> {
        let seconds = SECONDS;
        let workers = (0..count).map(|seed| self.start_worker(Task::Read { seconds, seed }));
        let mut workers = workers.collect::<Result<Vec<_>>>()?;
        workers.iter_mut().try_for_each(WorkerProcess::wait_ready)?;
        workers
            .iter_mut()
            .try_for_each(|worker| worker.send_line("go"))?;
        let mut rate = Rate::default();
        for worker in &mut workers {
            let read: ReadResult =
                serde_json::from_str(&worker.read_line()?).map_err(std::io::Error::from)?;
            rate.reads += read.reads;
            rate.cpu_s += read.cpu_s;
        }
        expect(rate.reads > 0, || "nothing was read".to_owned())?;
        Ok(rate)
    }

    /// The time until changes are visible in all processes.
    fn visibility(&self) -> Result<Timing> {
        let changes = CHANGES_UNTIMED + CHANGES;
        let workers = (0..PROCESSES).map(|_| self.start_worker(Task::ReportVisibility { changes }));
        let mut workers = workers.collect::<Result<Vec<_>>>()?;
        workers.iter_mut().try_for_each(WorkerProcess::wait_ready)?;
        let mut samples = Vec::new();
        for change in 1..=changes {
            let edit = self.fixture.nodes.set_text(0, &text_of(change));
            self.fixture
                .tree
                .commit(&[edit], CommitOptions::default())?;
            let committed = now_ns();
            let mut last = committed;
            for worker in &mut workers {
                let visible_at = worker.read_line()?.trim().parse::<u64>();
                last = last.max(visible_at.map_err(|_| worker.failure())?);
            }
            if change > CHANGES_UNTIMED {
                samples.push(Duration::from_nanos(last - committed).as_secs_f64());
            }
        }
        Timing::from_samples(samples, Duration::ZERO)
    }
}

#[derive(Default)]
struct Rate {
    reads: u64,
    cpu_s: f64,
}

impl Rate {
    fn per_second(&self) -> f64 {
        self.reads as f64 / SECONDS
    }

    fn timing(&self) -> Timing {
        let one_s = 1.0 / self.per_second();
        Timing {
            n: self.reads,
            median_s: one_s,
            min_s: one_s,
            p99_s: one_s,
            cpu_s: self.cpu_s / self.reads as f64,
            peak_bytes: 0,
        }
    }
}

/// A worker process, killed when dropped.
struct WorkerProcess {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl WorkerProcess {
    fn start(job: &Job) -> Result<Self> {
        let program = std::env::current_exe()?;
        let mut child = Command::new(program)
            .args(["bench", SUITE, "--part"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let streams = child.stdin.take().zip(child.stdout.take());
        let (input, output) = streams.ok_or_else(|| Failure::data("a process has no pipes"))?;
        let mut worker = Self {
            child,
            input,
            output: BufReader::new(output),
        };
        worker.send_line(&serde_json::to_string(job).map_err(std::io::Error::from)?)?;
        Ok(worker)
    }

    fn send_line(&mut self, line: &str) -> Result<()> {
        writeln!(self.input, "{line}")?;
        Ok(self.input.flush()?)
    }

    fn read_line(&mut self) -> Result<String> {
        let mut line = String::new();
        match self.output.read_line(&mut line)? {
            0 => Err(self.failure()),
            _ => Ok(line),
        }
    }

    fn wait_ready(&mut self) -> Result<()> {
        let line = self.read_line()?;
        expect(line.trim() == READY, || {
            format!("a process printed {line:?}")
        })
    }

    fn failure(&self) -> Failure {
        Failure::data("one of the processes of the bench failed")
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
