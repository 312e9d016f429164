//! The subcommands.

use clap::{Args, Subcommand};

use super::configure::Configure;
use super::import::Import;
use super::keys::{Delete, Keys};
use super::series::Series;
use super::status::{Beam, Scan};
use super::values::Values;
use super::write::{Assert, Assort, Observe, Track};
use crate::settings::Settings;
use espalier_terminal::Result;

/// Count things over time: numbers in buckets, added up, set, and read as series
#[derive(Args, Debug)]
#[command(after_help = "\
Statistics are kept in a store next to its data trees, or in a store of their own. A write updates one bucket of \
each granularity (a minute, an hour, a day, ...), in one atomic commit.

Start:
  espalier stats configure --store embedded:counts --time-zone Europe/Prague
  espalier stats track event::signup count=1 plan.pro=1 --store embedded:counts
  espalier stats series event::signup --granularity 1h --store embedded:counts")]
pub struct Stats {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Configure(Configure),
    Track(Track),
    Assert(Assert),
    Assort(Assort),
    Observe(Observe),
    Values(Values),
    Series(Series),
    Beam(Beam),
    Scan(Scan),
    Keys(Keys),
    Delete(Delete),
    Import(Import),
}

impl Stats {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        match &self.command {
            Command::Configure(command) => command.run(settings),
            Command::Track(command) => command.run(settings),
            Command::Assert(command) => command.run(settings),
            Command::Assort(command) => command.run(settings),
            Command::Observe(command) => command.run(settings),
            Command::Values(command) => command.run(settings),
            Command::Series(command) => command.run(settings),
            Command::Beam(command) => command.run(settings),
            Command::Scan(command) => command.run(settings),
            Command::Keys(command) => command.run(settings),
            Command::Delete(command) => command.run(settings),
            Command::Import(command) => command.run(settings),
        }
    }

    /// Whether results and errors are printed as JSON.
    pub fn wants_json(&self) -> bool {
        match &self.command {
            Command::Configure(command) => command.store_option.output_options.json,
            Command::Track(command) => command.store_option.output_options.json,
            Command::Assert(command) => command.store_option.output_options.json,
            Command::Assort(command) => command.store_option.output_options.json,
            Command::Observe(command) => command.store_option.output_options.json,
            Command::Values(command) => command.store_option.output_options.json,
            Command::Series(command) => command.store_option.output_options.json,
            Command::Beam(command) => command.store_option.output_options.json,
            Command::Scan(command) => command.store_option.output_options.json,
            Command::Keys(command) => command.store_option.output_options.json,
            Command::Delete(command) => command.store_option.output_options.json,
            Command::Import(command) => command.store_option.output_options.json,
        }
    }
}
