//! `espalier copy-config` and `espalier delete-config`.

use clap::Args;

use crate::commands::datastore_operation::run_operation;
use crate::endpoint::DatastoreOperation;
use crate::settings::{Access, OutputOptions, Settings};
use espalier_terminal::Result;

/// Copy one datastore to another (RFC 6241 §7.3); only the differences are written
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier copy-config running startup --store embedded:data
  espalier copy-config startup running --store embedded:data           # validated
  espalier copy-config factory-default candidate --store embedded:data
  espalier copy-config running candidate --store embedded:data         # discards its changes")]
pub struct CopyConfig {
    /// The datastore to copy
    from: String,

    /// The datastore to overwrite
    to: String,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl CopyConfig {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let access = Access {
            datastore: Some(self.to.clone()),
            ..self.access.clone()
        };
        let from = self.from.clone();
        run_operation(
            &access,
            self.output_options,
            settings,
            "running",
            DatastoreOperation::Copy { from },
        )
    }
}

/// Delete the startup datastore (RFC 6241 §7.4)
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  espalier delete-config startup --store embedded:data")]
pub struct DeleteConfig {
    /// The datastore; only startup can be deleted
    name: String,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl DeleteConfig {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let access = Access {
            datastore: Some(self.name.clone()),
            ..self.access.clone()
        };
        run_operation(
            &access,
            self.output_options,
            settings,
            "startup",
            DatastoreOperation::Delete,
        )
    }
}
