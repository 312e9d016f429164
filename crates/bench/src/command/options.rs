//! The options of `espalier bench`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::field::Case;
use crate::load::Choice;

/// Measure this machine; every result is checked, and a wrong one is an error
#[derive(Args, Debug)]
#[command(after_help = "\
Suites:
  scale    growth of the cost of one entry with the size of its list: load, get, set, page, read all, delete
  field    cases that users of other systems report as slow: many leafrefs, musts and whens, one leaf
           among a million entries
  sysrepo  the rows of sysrepo's own bench, with at least the same work, compared with its figures
  drivers  the same rows on every engine and policy, compared with the engine's own client
  clixon   one large list, as in Clixon's measurements: through a candidate, and over RESTCONF
  cps      the performance tests of ONAP CPS, on devices of 86 fragments
  dodb     the cars of DODB's own bench: inserts, and queries by index, partition and tag
  trifle   the table that Trifle::Stats publishes, with the same work
  telemetry
           statistics: many series with one call a minute each
  load     many clients over HTTP against a server process: throughput, latencies, processor time, drift
  processes
           three processes over one engine: read rate, and time until a change is visible in all
  all      every suite

Examples:
  espalier bench scale
  espalier bench all --sizes 1000,10000 --json now.jsonl --html report.html
  espalier bench sysrepo --sizes 100000 --rows oper,batch --drivers memory
  espalier bench drivers --drivers sqlite,postgres://me@127.0.0.1/test --policies cached --repeat 3
  espalier bench scale --drivers embedded:/mnt/fast --json -
  espalier bench field --cases a,one-leaf --sizes 1000,100000
  espalier bench trifle --counts 100,1000 --drivers memory,redis://127.0.0.1:6379/0
  espalier bench telemetry --sizes 10000 --minutes 1440
  espalier bench processes --drivers postgres://me@127.0.0.1/test,etcd://127.0.0.1:2379
  espalier bench load --clients 64 --writes 100 --durability durable
  espalier bench load --clients 64 --writes 10 --choices skewed --trees 16 --seconds 3600
  espalier bench all --json now.jsonl --baseline before.jsonl
  espalier bench --from now.jsonl --html report.html

Stores are created in new folders, or under new names on servers, and removed at the end. A JSON row is one \
line: suite, row, driver, policy, durability, size, n, median_s, min_s, p99_s, cpu_s, peak_bytes, spread, \
raw_s (the engine's own client doing the same reads and writes), peer (figures of other systems), note. \
Seconds are per operation; cpu_s and peak_bytes are those of the whole process.")]
pub struct Bench {
    /// The suites to run
    #[arg(value_enum, required_unless_present = "from")]
    pub(super) suites: Vec<Suite>,

    /// Numbers of list entries, documents or devices; the default depends on the suite
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u64).range(2..=100_000_000))]
    pub(super) sizes: Vec<u64>,

    /// Engines: memory, embedded, file, sqlite; one of them with a folder for its stores
    /// (embedded:DIR); the URL of a server; local (those without a server); servers (those in
    /// ESPALIER_BENCH_SERVERS); all. The default depends on the suite
    #[arg(long, alias = "store", value_name = "LIST")]
    pub(super) drivers: Vec<String>,

    /// Memory policies: uncached, indexed, recent, cached (for dodb also ram)
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub(super) policies: Vec<String>,

    /// Whether commits wait for the disk; memory and etcd have no choice
    #[arg(long, value_delimiter = ',', value_enum, value_name = "NAME")]
    pub(super) durability: Vec<Durability>,

    /// Repeat everything this many times; rows have the median of the medians
    #[arg(long, default_value_t = 1, value_name = "TIMES",
          value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(super) repeat: u64,

    /// For sysrepo and drivers: only the rows whose name contains one of these, such as `oper`
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub(super) rows: Vec<String>,

    /// For field: the cases; by default all
    #[arg(long, value_delimiter = ',', value_enum)]
    pub(super) cases: Vec<Case>,

    /// For trifle: numbers of calls
    #[arg(long, value_delimiter = ',', default_value = "100,1000",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(super) counts: Vec<u64>,

    /// For telemetry: the calls of each series [default: 1440; with all: 60]
    #[arg(long, value_parser = clap::value_parser!(u64).range(2..=1_000_000))]
    pub(super) minutes: Option<u64>,

    /// For dodb: numbers of cars in a partition or with a tag
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(super) matches: Vec<u64>,

    /// For load: numbers of clients; by default 1, 8, 64 and 1024
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=16_384))]
    pub(super) clients: Vec<u64>,

    /// For load: the percentages of the requests that write; by default 0, 10 and 100
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u64).range(0..=100))]
    pub(super) writes: Vec<u64>,

    /// For load: how clients choose entries; by default each as often as any other
    #[arg(long, value_delimiter = ',', value_enum)]
    pub(super) choices: Vec<Choice>,

    /// For load: numbers of anchors; by default one
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(super) trees: Vec<u64>,

    /// For load: the time of each measurement, after one second that is not measured. A run of 600 seconds or more fails
    /// if its rate or its memory drifts. By default 5 seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=864_000))]
    pub(super) seconds: Option<u64>,

    /// Write JSON rows to this file; `-` is standard output. By default tables are printed
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<String>,

    /// Write an HTML page with tables and plots to this file
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,

    /// Write the tables as Markdown to this file
    #[arg(long, value_name = "FILE")]
    pub(super) markdown: Option<PathBuf>,

    /// Overwrite existing files of --json, --html and --markdown
    #[arg(long)]
    pub(super) force: bool,

    /// Compare with the rows of an earlier --json, and print what became slower or faster beyond the
    /// noise
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,

    /// Include the rows of an earlier --json in the report; can be repeated
    #[arg(long, value_name = "FILE")]
    pub(super) from: Vec<PathBuf>,

    /// Run as a worker process of the suite `processes`
    #[arg(long, hide = true)]
    pub(super) part: bool,
}

/// A suite, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Suite {
    All,
    Scale,
    Field,
    Sysrepo,
    Drivers,
    Clixon,
    Cps,
    Dodb,
    Trifle,
    Telemetry,
    Load,
    Processes,
}

impl Suite {
    /// Every suite, in the order of the report.
    pub(super) const EACH: [Self; 11] = [
        Self::Scale,
        Self::Field,
        Self::Sysrepo,
        Self::Drivers,
        Self::Clixon,
        Self::Cps,
        Self::Trifle,
        Self::Telemetry,
        Self::Dodb,
        Self::Load,
        Self::Processes,
    ];
}

/// Whether commits wait for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Durability {
    /// Commits are on disk when they return
    Durable,
    /// The operating system writes commits later
    Relaxed,
}
