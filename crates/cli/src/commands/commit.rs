//! `espalier commit`.

use clap::Args;
use espalier_store::CONFIRM_SECONDS_DEFAULT;

use crate::commands::datastore_operation::run_operation;
use crate::endpoint::DatastoreOperation;
use crate::settings::{Access, OutputOptions, Settings};
use espalier_terminal::Result;

/// Commit the candidate to running: all of it, or nothing if a constraint is broken
#[derive(Args, Debug)]
#[command(after_help = "\
The candidate (RFC 6241 §8.3): edit it, inspect it, commit it.
  export ESPALIER_STORE=embedded:data
  espalier set '/espalier-network:network/device=core-1/site' cellar --datastore candidate
  espalier get '/espalier-network:network/device=core-1' --datastore candidate
  espalier validate
  espalier commit --author maria --comment 'core-1 moved'

A confirmed commit (RFC 6241 §8.4) is rolled back unless it is confirmed in time.
  espalier commit --confirmed 60 --persist move
  espalier commit --persist-id move             # confirms it
  espalier commit --confirmed 60 --persist move
  espalier commit --cancel --persist-id move    # rolls it back now

A private candidate, invisible to other sessions:
  espalier set '/espalier-network:network/device=core-1/site' cellar \\
      --datastore private-candidate --session maria
  espalier commit --datastore private-candidate --session maria")]
pub struct Commit {
    /// Roll back unless a further commit confirms it within SECONDS
    /// [default: 600]
    #[arg(long, value_name = "SECONDS")]
    confirmed: Option<Option<u32>>,

    /// Keep the confirmed commit beyond the end of its session; any session confirms it by this ID
    #[arg(long, value_name = "ID", requires = "confirmed")]
    persist: Option<String>,

    /// The pending commit that this one confirms, extends or cancels
    #[arg(long, value_name = "ID")]
    persist_id: Option<String>,

    /// Roll back the pending confirmed commit now
    #[arg(long, conflicts_with_all = ["confirmed", "persist"])]
    cancel: bool,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl Commit {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let persist_id = self.persist_id.clone();
        let what = match self.cancel {
            true => DatastoreOperation::Cancel { persist_id },
            false => DatastoreOperation::Commit {
                confirmed: self
                    .confirmed
                    .map(|seconds| seconds.unwrap_or(CONFIRM_SECONDS_DEFAULT)),
                persist: self.persist.clone(),
                persist_id,
            },
        };
        run_operation(
            &self.access,
            self.output_options,
            settings,
            "candidate",
            what,
        )
    }
}
