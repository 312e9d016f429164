//! `espalier update`.

use clap::Args;

use crate::commands::datastore_operation::run_operation;
use crate::endpoint::{ConflictPreference, DatastoreOperation};
use crate::settings::{Access, OutputOptions, Settings};
use espalier_terminal::Result;

/// Rebase the candidate on the current running datastore, and resolve conflicts
#[derive(Args, Debug)]
#[command(after_help = "\
A candidate follows running automatically, unless both changed the same node differently. In that case \
validate and commit fail and list the nodes, until the conflicts are resolved with --prefer.

Examples:
  espalier update --store embedded:data    # lists the conflicts
  espalier update --prefer candidate --store embedded:data
  espalier update --prefer running --store embedded:data")]
pub struct Update {
    /// The side that wins if both changed a node; without it, a conflict is an error
    #[arg(long, value_name = "SIDE")]
    prefer: Option<ConflictPreference>,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl Update {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let prefer = self.prefer;
        run_operation(
            &self.access,
            self.output_options,
            settings,
            "candidate",
            DatastoreOperation::Update { prefer },
        )
    }
}
