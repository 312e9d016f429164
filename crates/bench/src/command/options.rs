//! What may be asked of the bench.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::field::Case;

/// Measure this machine; every answer is checked, and a wrong one is a failure
#[derive(Args, Debug)]
#[command(after_help = "\
Suites:
  scale    how work on one entry grows with the list it is in: load, get, set, page, read all, delete
  field    what users of other systems report as slow: many leafrefs, musts and whens, one leaf among
           a million entries
  sysrepo  the rows of sysrepo's own bench, with at least the same work, beside its figures
  drivers  the same rows on every engine, under policies, beside the engine's own client
  clixon   one large list, as Clixon was measured: through a candidate, and over RESTCONF
  cps      the performance tests of ONAP CPS, on devices of 86 fragments
  dodb     the cars of DODB's own bench, added and found by index, partition and tag
  trifle   the table that Trifle::Stats publishes, with the same work
  processes
           three processes over one engine: reads, and how soon a change is visible in all
  all      every one of them

Examples:
  espalier bench scale
  espalier bench all --sizes 1000,10000 --json now.jsonl --html report.html
  espalier bench sysrepo --sizes 100000 --rows oper,batch --drivers memory
  espalier bench drivers --drivers sqlite,postgres://me@127.0.0.1/test --policies cached --repeat 3
  espalier bench scale --drivers embedded:/mnt/fast --json -
  espalier bench field --cases a,one-leaf --sizes 1000,100000
  espalier bench trifle --counts 100,1000 --drivers memory,redis://127.0.0.1:6379/0
  espalier bench processes --drivers postgres://me@127.0.0.1/test,etcd://127.0.0.1:2379
  espalier bench all --json now.jsonl --baseline before.jsonl
  espalier bench --from now.jsonl --html report.html

Stores are made in new folders, and on servers under new names, and removed at the end. A JSON row is one \
line: suite, row, driver, policy, durability, size, n, median_s, min_s, p99_s, cpu_s, peak_bytes, spread, \
raw_s (the engine's own client doing the same reads and writes), peer (figures of other systems), note. \
Seconds are of one operation; cpu_s and peak_bytes are of the whole process.")]
pub struct Bench {
    /// What to measure
    #[arg(value_enum, required_unless_present = "from")]
    pub(super) suites: Vec<Suite>,

    /// Numbers of list entries, of documents, of devices; else those that each suite is known for
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u64).range(2..=100_000_000))]
    pub(super) sizes: Vec<u64>,

    /// Engines: memory, embedded, file, sqlite; one of them with a folder for its stores
    /// (embedded:DIR); the URL of a server; local (those without a server); servers (those in
    /// ESPALIER_BENCH_SERVERS); all. Else those that each suite is known for
    #[arg(long, alias = "store", value_name = "LIST")]
    pub(super) drivers: Vec<String>,

    /// How much of an engine is held in memory: uncached, indexed, recent, cached (and ram, of dodb)
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub(super) policies: Vec<String>,

    /// When commits are on disk; memory and etcd have no choice
    #[arg(long, value_delimiter = ',', value_enum, value_name = "NAME")]
    pub(super) durability: Vec<Durability>,

    /// Measure everything so many times; rows have the median of the medians
    #[arg(long, default_value_t = 1, value_name = "TIMES",
          value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(super) repeat: u64,

    /// Of sysrepo and drivers: only the rows with one of these in their name, such as `oper`
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub(super) rows: Vec<String>,

    /// Of field: the cases, else all of them
    #[arg(long, value_delimiter = ',', value_enum)]
    pub(super) cases: Vec<Case>,

    /// Of trifle: numbers of calls
    #[arg(long, value_delimiter = ',', default_value = "100,1000",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(super) counts: Vec<u64>,

    /// Of dodb: numbers of cars that a partition, or a tag, has
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(super) matches: Vec<u64>,

    /// Write JSON rows to this file; `-` is standard output. Else tables are printed
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<String>,

    /// Write a page with tables and plots to this file
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,

    /// Write the tables as Markdown to this file
    #[arg(long, value_name = "FILE")]
    pub(super) markdown: Option<PathBuf>,

    /// Replace the files of --json, --html and --markdown where they exist
    #[arg(long)]
    pub(super) force: bool,

    /// Compare with the rows that an earlier --json wrote, and say what became slower or faster beyond
    /// the noise
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,

    /// Report the rows that an earlier --json wrote, beside what is measured; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(super) from: Vec<PathBuf>,

    /// This is one of the processes of `processes`
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
    Processes,
}

impl Suite {
    /// Every suite, in the order of the report.
    pub(super) const EACH: [Self; 9] = [
        Self::Scale,
        Self::Field,
        Self::Sysrepo,
        Self::Drivers,
        Self::Clixon,
        Self::Cps,
        Self::Trifle,
        Self::Dodb,
        Self::Processes,
    ];
}

/// When commits are on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Durability {
    /// When they return
    Durable,
    /// When the system writes them
    Relaxed,
}
