//! The subcommands.

use clap::{Args, Subcommand};

use super::check::{Check, Repair};
use super::configure::Configure;
use super::delete::Delete;
use super::export_import::{Export, Import};
use super::find::Find;
use super::get::Get;
use super::ls::Ls;
use super::update::Update;
use super::watch::Watch;
use super::write::{Insert, Put, Upsert};
use crate::settings::{OutputOptions, Settings};
use espalier_terminal::Result;

/// Keep documents in collections with indexes: get them by key, find them by value, range and tag
#[derive(Args, Debug)]
#[command(after_help = "\
Collections are kept in a store next to its data trees, or in a store of their own. A document is any JSON; its \
key is a number. A document and its entries in the indexes change in one atomic commit.

Start:
  espalier documents configure cars --unique name=/name --partition color=/color \\
      --tags keyword=/keywords --store embedded:garage
  espalier documents insert cars '{\"name\":\"Corvet-1\",\"color\":\"red\",\"keywords\":[\"fast\",\"old\"]}' \\
      --store embedded:garage
  espalier documents find cars color red --store embedded:garage
  espalier documents ls cars --store embedded:garage")]
pub struct Documents {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Configure(Configure),
    Ls(Ls),
    Get(Get),
    Find(Find),
    Insert(Insert),
    Put(Put),
    Upsert(Upsert),
    Update(Update),
    Delete(Delete),
    Export(Export),
    Import(Import),
    Check(Check),
    Repair(Repair),
    Watch(Watch),
}

impl Documents {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        match &self.command {
            Command::Configure(command) => command.run(settings),
            Command::Ls(command) => command.run(settings),
            Command::Get(command) => command.run(settings),
            Command::Find(command) => command.run(settings),
            Command::Insert(command) => command.run(settings),
            Command::Put(command) => command.run(settings),
            Command::Upsert(command) => command.run(settings),
            Command::Update(command) => command.run(settings),
            Command::Delete(command) => command.run(settings),
            Command::Export(command) => command.run(settings),
            Command::Import(command) => command.run(settings),
            Command::Check(command) => command.run(settings),
            Command::Repair(command) => command.run(settings),
            Command::Watch(command) => command.run(settings),
        }
    }

    /// Whether results and errors are printed as JSON.
    pub fn wants_json(&self) -> bool {
        self.output_options().json
    }

    fn output_options(&self) -> &OutputOptions {
        match &self.command {
            Command::Configure(command) => &command.store_option.output_options,
            Command::Ls(command) => &command.store_option.output_options,
            Command::Get(command) => &command.store_option.output_options,
            Command::Find(command) => &command.store_option.output_options,
            Command::Insert(command) => &command.store_option.output_options,
            Command::Put(command) => &command.store_option.output_options,
            Command::Upsert(command) => &command.store_option.output_options,
            Command::Update(command) => &command.store_option.output_options,
            Command::Delete(command) => &command.store_option.output_options,
            Command::Export(command) => &command.store_option.output_options,
            Command::Import(command) => &command.store_option.output_options,
            Command::Check(command) => &command.store_option.output_options,
            Command::Repair(command) => &command.store_option.output_options,
            Command::Watch(command) => &command.store_option.output_options,
        }
    }
}
