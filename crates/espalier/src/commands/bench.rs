//! `espalier bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::bench;
use crate::error::{Failure, Result};

/// Measure this machine; every answer is checked, and a wrong one is a failure
#[derive(Args, Debug)]
pub struct Bench {
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Subcommand, Debug)]
enum Suite {
    All(All),
    Scale(Scale),
    Field(Field),
    Sysrepo(Sysrepo),
    Dodb(Dodb),
    Trifle(Trifle),
    Clixon(Clixon),
}

/// Every suite at these sizes, into one report
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier bench all --html report.html
  espalier bench all --sizes 1000,10000 --json now.jsonl --html report.html
  espalier bench all --json now.jsonl --baseline before.jsonl")]
struct All {
    /// Numbers of entries, or documents
    #[arg(long, value_delimiter = ',', default_value = "1000,10000",
          value_parser = clap::value_parser!(u64).range(2..=10_000_000))]
    sizes: Vec<u64>,

    #[command(flatten)]
    results: Results,
}

/// How work on one entry grows with the list it is in: load, get, set, page, read all, delete
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier bench scale
  espalier bench scale --sizes 1000,10000,100000,1000000 --json -
  espalier bench scale --store memory: --sizes 1000,100000
  espalier bench scale --store embedded:/mnt/fast --json results.jsonl

A JSON row is one line: suite, row, driver, policy, durability, size, n, median_s, min_s, p99_s, \
cpu_s, raw_s (the raw engine doing the same reads and writes), peer, note. Seconds are of one \
operation; cpu_s is of the whole process, on average.")]
struct Scale {
    /// Numbers of list entries
    #[arg(long, value_delimiter = ',', default_value = "1000,10000,100000,1000000",
          value_parser = clap::value_parser!(u64).range(2..=100_000_000))]
    sizes: Vec<u64>,

    #[command(flatten)]
    place: Place,
}

/// Where rows go, and what they are compared with.
#[derive(Args, Clone, Debug)]
struct Results {
    /// Write JSON rows to this file; `-` is standard output. Else tables are printed
    #[arg(long, value_name = "FILE")]
    json: Option<String>,

    /// Write a page with tables and plots to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Compare with the rows that an earlier --json wrote, and say what became slower or faster beyond
    /// the noise
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
}

/// Where a suite works, and where its rows go.
#[derive(Args, Clone, Debug)]
struct Place {
    #[command(flatten)]
    results: Results,

    /// `embedded:DIR`, where stores are made in new folders below DIR and removed at the end, or
    /// `memory:`. Else the embedded driver in the system's folder for temporary files
    #[arg(long, value_name = "URL")]
    store: Option<String>,
}

/// What users of other systems report as slow: many leafrefs, musts and whens, large lists, one
/// leaf among a million entries
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier bench field
  espalier bench field --cases a,g --sizes 4000,40000 --json -
  espalier bench field --cases one-leaf --sizes 1000,1000000

The rows are as those of `bench scale`. Everything is validated in full, and commits are relaxed; a \
row of one entry says how it grew from the size before, and how often validation fell back on more \
than a change can affect.")]
struct Field {
    /// Numbers of entries, each case at each of them. Else each case at the size that it is known
    /// at, and at a tenth of it
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u64).range(2..=10_000_000))]
    sizes: Vec<u64>,

    /// The cases, else all of them
    #[arg(long, value_delimiter = ',', value_enum)]
    cases: Vec<bench::Case>,

    #[command(flatten)]
    place: Place,
}

/// The rows of sysrepo's own bench, with at least the same work, beside its figures
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier bench sysrepo
  espalier bench sysrepo --sizes 1000,10000,100000 --json -
  espalier bench sysrepo --store memory: --sizes 1000 --rows oper,batch

The rows are as those of `bench scale`, on memory and on the embedded driver (relaxed, then \
durable); --store leaves one of the two out. peer has sysrepo's figures where the size is one that \
it was measured at.")]
struct Sysrepo {
    /// Numbers of list entries
    #[arg(long, value_delimiter = ',', default_value = "1000,10000,100000",
          value_parser = clap::value_parser!(u64).range(2..=10_000_000))]
    sizes: Vec<u64>,

    /// Only the rows with one of these in their name, such as `oper`
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    rows: Vec<String>,

    #[command(flatten)]
    place: Place,
}

/// The cars of DODB's own bench, added and found by index, partition and tag, beside its figures
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier bench dodb --json -
  espalier bench dodb --sizes 50000,1000000 --policies cached,uncached
  espalier bench dodb --store memory: --sizes 50000

The rows are as those of `bench scale`, on the embedded driver, relaxed. Partitions and tags are \
measured among the largest number of cars; their size is how many cars are found. peer has the \
figures of DODB, and of plain files, where there are any.")]
struct Dodb {
    /// Numbers of cars
    #[arg(long, value_delimiter = ',', default_value = "50000,100000,150000,200000,250000",
          value_parser = clap::value_parser!(u64).range(2..=10_000_000))]
    sizes: Vec<u64>,

    /// Numbers of cars that a partition, or a tag, has
    #[arg(long, value_delimiter = ',', default_value = "1000,2000,3000,4000,5000,10000",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    matches: Vec<u64>,

    /// The memory policies
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "ram,cached,indexed,uncached"
    )]
    policies: Vec<String>,

    #[command(flatten)]
    place: Place,
}

/// The table that Trifle::Stats publishes, with the same work on this engine, beside its figures
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier bench trifle
  espalier bench trifle --counts 100,1000 --json -
  espalier bench trifle --store redis://127.0.0.1:6379/0 --store postgres://me@127.0.0.1/test

Without --store: memory, embedded and SQLite, the latter two relaxed and durable. On an engine that is \
named, the bench writes below a prefix of its own, and removes it at the end. The rows are as those of \
`bench scale`; size is the number of calls. After them comes the table as it was published: seconds of \
all calls.")]
struct Trifle {
    /// Numbers of calls
    #[arg(long, value_delimiter = ',', default_value = "100,1000",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    counts: Vec<u64>,

    /// An engine, as any store is named; may be repeated
    #[arg(long, value_name = "URL")]
    store: Vec<String>,

    #[command(flatten)]
    results: Results,
}

/// One large list, as Clixon was measured: through a candidate, and over RESTCONF, beside its figures
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier bench clixon
  espalier bench clixon --sizes 100,1000,10000,100000 --json - --html clixon.html
  espalier bench clixon --store memory: --sizes 1000

The rows are as those of `bench scale`, on the embedded driver (relaxed, then durable), or on memory. What \
Clixon does over NETCONF is done through the library; RESTCONF is one keep-alive connection. After them \
comes the table as it was published. peer has Clixon's figures where the size is one that it was \
measured at.")]
struct Clixon {
    /// Numbers of list entries
    #[arg(long, value_delimiter = ',', default_value = "100,1000,10000,100000",
          value_parser = clap::value_parser!(u64).range(2..=1_000_000))]
    sizes: Vec<u64>,

    #[command(flatten)]
    place: Place,
}

impl Clixon {
    fn run(&self, output: &mut bench::Output) -> Result<()> {
        let clixon = bench::Clixon {
            sizes: ascending(&self.sizes),
            folder: self.place.folder()?,
        };
        bench::run_clixon(&clixon, output)
    }
}

impl Trifle {
    fn run(&self, output: &mut bench::Output) -> Result<()> {
        let trifle = bench::Trifle {
            counts: ascending(&self.counts),
            folder: std::env::temp_dir(),
            engines: self.store.clone(),
        };
        bench::run_trifle(&trifle, output)
    }
}

impl Bench {
    /// Runs it.
    pub fn run(&self) -> Result<()> {
        let mut output = bench::Output::new(&self.suite.results().destination())?;
        self.suite.run(&mut output)?;
        output.finish()
    }
}

impl Suite {
    fn results(&self) -> &Results {
        match self {
            Self::All(all) => &all.results,
            Self::Scale(scale) => &scale.place.results,
            Self::Field(field) => &field.place.results,
            Self::Sysrepo(sysrepo) => &sysrepo.place.results,
            Self::Dodb(dodb) => &dodb.place.results,
            Self::Trifle(trifle) => &trifle.results,
            Self::Clixon(clixon) => &clixon.place.results,
        }
    }

    fn run(&self, output: &mut bench::Output) -> Result<()> {
        match self {
            Self::All(all) => all.run(output),
            Self::Scale(scale) => scale.run(output),
            Self::Field(field) => field.run(output),
            Self::Sysrepo(sysrepo) => sysrepo.run(output),
            Self::Dodb(dodb) => dodb.run(output),
            Self::Trifle(trifle) => trifle.run(output),
            Self::Clixon(clixon) => clixon.run(output),
        }
    }
}

impl Results {
    fn destination(&self) -> bench::Destination {
        bench::Destination {
            json: self.json.clone(),
            html: self.html.clone(),
            baseline: self.baseline.clone(),
        }
    }
}

impl All {
    /// Every suite, one after the other, into the same output.
    fn run(&self, output: &mut bench::Output) -> Result<()> {
        let place = Place {
            results: self.results.clone(),
            store: None,
        };
        let sizes = || self.sizes.clone();
        let (results, counts) = (self.results.clone(), vec![100, 1_000]);
        let suites = [
            Suite::Scale(Scale {
                sizes: sizes(),
                place: place.clone(),
            }),
            Suite::Field(Field {
                sizes: sizes(),
                cases: Vec::new(),
                place: place.clone(),
            }),
            Suite::Sysrepo(Sysrepo {
                sizes: sizes(),
                rows: Vec::new(),
                place: place.clone(),
            }),
            Suite::Clixon(Clixon {
                sizes: sizes(),
                place: place.clone(),
            }),
            Suite::Trifle(Trifle {
                counts,
                store: Vec::new(),
                results,
            }),
            Suite::Dodb(Dodb {
                sizes: sizes(),
                matches: vec![100, 1_000],
                policies: ["ram", "cached", "indexed", "uncached"]
                    .map(str::to_owned)
                    .into(),
                place,
            }),
        ];
        suites.iter().try_for_each(|suite| suite.run(output))
    }
}

impl Scale {
    fn run(&self, output: &mut bench::Output) -> Result<()> {
        let scale = bench::Scale {
            sizes: ascending(&self.sizes),
            folder: self.place.folder()?,
        };
        bench::run_scale(&scale, output)
    }
}

impl Field {
    fn run(&self, output: &mut bench::Output) -> Result<()> {
        let cases = match self.cases.as_slice() {
            [] => bench::Case::ALL.to_vec(),
            cases => cases.to_vec(),
        };
        let field = bench::Field {
            cases,
            sizes: ascending(&self.sizes),
            folder: self.place.folder()?,
        };
        bench::run_field(&field, output)
    }
}

impl Sysrepo {
    fn run(&self, output: &mut bench::Output) -> Result<()> {
        let folder = self.place.folder()?;
        let in_memory = match (&folder, &self.place.store) {
            (Some(_), Some(_)) => bench::InMemory::LeftOut,
            _ => bench::InMemory::Measured,
        };
        let sysrepo = bench::Sysrepo {
            sizes: ascending(&self.sizes),
            folder,
            rows: self.rows.clone(),
            in_memory,
        };
        bench::run_sysrepo(&sysrepo, output)
    }
}

impl Dodb {
    fn run(&self, output: &mut bench::Output) -> Result<()> {
        let policies = self.policies.iter().map(|text| text.parse());
        let dodb = bench::Dodb {
            sizes: ascending(&self.sizes),
            matches: ascending(&self.matches),
            policies: policies.collect::<espalier_documents::Result<_>>()?,
            folder: self.place.folder()?,
        };
        bench::run_dodb(&dodb, output)
    }
}

fn ascending(sizes: &[u64]) -> Vec<u64> {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

impl Place {
    /// The folder that embedded stores are made in; none for memory.
    fn folder(&self) -> Result<Option<PathBuf>> {
        let url = match self.store.as_deref() {
            None => return Ok(Some(std::env::temp_dir())),
            Some("memory:") => return Ok(None),
            Some(url) => url,
        };
        let folder = url.strip_prefix("embedded:").ok_or_else(|| {
            Failure::usage(format!("--store {url}: write embedded:DIR or memory:"))
        })?;
        std::fs::create_dir_all(folder)?;
        Ok(Some(PathBuf::from(folder)))
    }
}
