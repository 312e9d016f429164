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
    Scale(Scale),
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

    /// Write JSON rows to this file; `-` is standard output. Else a table is printed
    #[arg(long, value_name = "FILE")]
    json: Option<String>,

    /// `embedded:DIR`, where stores are made in new folders below DIR and removed at the end, or
    /// `memory:`. Else the embedded driver in the system's folder for temporary files
    #[arg(long, value_name = "URL")]
    store: Option<String>,
}

impl Bench {
    /// Runs it.
    pub fn run(&self) -> Result<()> {
        match &self.suite {
            Suite::Scale(scale) => scale.run(),
        }
    }
}

impl Scale {
    fn run(&self) -> Result<()> {
        let mut sizes = self.sizes.clone();
        sizes.sort_unstable();
        sizes.dedup();
        let folder = match self.store.as_deref() {
            None => Some(std::env::temp_dir()),
            Some("memory:") => None,
            Some(url) => {
                let folder = url.strip_prefix("embedded:").ok_or_else(|| {
                    Failure::usage(format!("--store {url}: write embedded:DIR or memory:"))
                })?;
                std::fs::create_dir_all(folder)?;
                Some(PathBuf::from(folder))
            }
        };
        let mut output = bench::Output::new(self.json.as_deref())?;
        bench::run_scale(&bench::Scale { sizes, folder }, &mut output)
    }
}
