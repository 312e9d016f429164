//! `espalier validate`.

use clap::Args;

use crate::commands::datastore_operation::run_operation;
use crate::endpoint::DatastoreOperation;
use crate::settings::{Access, OutputOptions, Settings};
use espalier_terminal::Result;

/// Validate the candidate as a commit would, or every constraint of another datastore
#[derive(Args, Debug)]
#[command(after_help = "\
Prints every violation with its path, and the nodes that running and the candidate changed differently; \
`espalier update` resolves these.

Examples:
  espalier validate --store embedded:data
  espalier validate --datastore running --store embedded:data    # all of it, on all cores")]
pub struct Validate {
    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl Validate {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        run_operation(
            &self.access,
            self.output_options,
            settings,
            "candidate",
            DatastoreOperation::Validate,
        )
    }
}
