//! The command and its subcommands.

use clap::{Args, Subcommand};

use super::events::Events;
use super::settings::SettingsCommand;
use crate::settings::Settings;
use espalier_terminal::Result;

/// Show the notifications of an anchor: past ones, and those that follow
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Streams: NETCONF has all events, espalier-commits the commits, and a stream with the name of a module its \
notifications, after `espalier notifications settings --module-streams true`.

Examples:
  espalier notifications --store embedded:data
  espalier notifications --since 1h --filter '/espalier-network:link-down' --store embedded:data
  espalier notifications --stream espalier-commits --json --server http://127.0.0.1:8080
  espalier notifications --follow --server http://127.0.0.1:8080
  espalier notifications settings --records-max 10000 --age-max 7d --store embedded:data")]
pub struct NotificationsCommand {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    events: Events,
}

#[derive(Subcommand, Debug)]
enum Command {
    Settings(SettingsCommand),
}

impl NotificationsCommand {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        match &self.command {
            None => self.events.run(settings),
            Some(Command::Settings(command)) => command.run(settings),
        }
    }

    /// Whether results and errors are printed as JSON.
    pub fn wants_json(&self) -> bool {
        match &self.command {
            None => self.events.source_option.output_options.json,
            Some(Command::Settings(command)) => command.source_option.output_options.json,
        }
    }
}
