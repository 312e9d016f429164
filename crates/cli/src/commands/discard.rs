//! `espalier discard`.

use clap::Args;

use crate::commands::datastore_operation::run_operation;
use crate::endpoint::DatastoreOperation;
use crate::settings::{Access, OutputOptions, Settings};
use espalier_terminal::Result;

/// Discard the changes of the candidate, so that it equals running
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier discard --store embedded:data
  espalier discard --datastore private-candidate --session maria --store embedded:data")]
pub struct Discard {
    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl Discard {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        run_operation(
            &self.access,
            self.output_options,
            settings,
            "candidate",
            DatastoreOperation::Discard,
        )
    }
}
