//! The command and its subcommands.

use clap::{Args, Subcommand};

use super::records::{Export, Follow, List};
use super::settings::SettingsCommand;
use crate::settings::Settings;
use espalier_terminal::Result;

/// Show who did what, from where, with which result
#[derive(Args, Debug)]
#[command(after_help = "\
Logins, changes, denials and operations are recorded in the store: by servers, and by commands with --store. A user \
of a server needs a rule that permits reading the log; --admin users may.

Examples:
  espalier audit list --store embedded:data
  espalier audit list --of-user maria --operation edit --since 7d --store embedded:data
  espalier audit list --result access-denied --json --store embedded:data
  espalier audit export -o audit.jsonl --store embedded:data
  espalier audit follow --server http://127.0.0.1:8080
  espalier audit settings --age-max 90d --record reads --store embedded:data")]
pub struct AuditCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    List(List),
    Export(Export),
    Follow(Follow),
    Settings(SettingsCommand),
}

impl AuditCommand {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        match &self.command {
            Command::List(command) => command.run(settings),
            Command::Export(command) => command.run(settings),
            Command::Follow(command) => command.run(settings),
            Command::Settings(command) => command.run(settings),
        }
    }

    /// Whether results and errors are printed as JSON.
    pub fn wants_json(&self) -> bool {
        match &self.command {
            Command::List(command) => command.log_option.output_options.json,
            Command::Export(command) => command.log_option.output_options.json,
            Command::Follow(command) => command.log_option.output_options.json,
            Command::Settings(command) => command.log_option.output_options.json,
        }
    }
}
