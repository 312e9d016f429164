//! `espalier lock`, `espalier unlock` and `espalier locks`.

use clap::Args;

use crate::commands::datastore_operation::run_operation;
use crate::endpoint::{DatastoreOperation, LockOwner};
use crate::settings::{Access, OutputOptions, Settings};
use espalier_terminal::Result;

/// Lock a datastore, or nodes of it, for a session
#[derive(Args, Debug)]
#[command(after_help = "\
A lock of the whole datastore (RFC 6241 §7.5) or of some nodes and everything below them (RFC 5717). It lasts \
until it is released, also across processes; other sessions cannot write the locked nodes.

Examples:
  espalier lock --session maria --store embedded:data
  espalier lock '/espalier-network:network/device=core-1' --session maria --store embedded:data
  espalier lock --datastore candidate --session maria --store embedded:data
  espalier locks --store embedded:data")]
pub struct Lock {
    /// The nodes; by default, the whole datastore
    paths: Vec<String>,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl Lock {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let paths = self.paths.clone();
        run_operation(
            &self.access,
            self.output_options,
            settings,
            "running",
            DatastoreOperation::Lock { paths },
        )
    }
}

/// Release a lock
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier unlock --session maria --store embedded:data
  espalier unlock --id 1 --session maria --store embedded:data    # a partial lock
  espalier unlock --force --store embedded:data                   # of any session
  espalier unlock --all --session maria --store embedded:data     # ends the session

When a session ends, its locks are released, its private candidate is discarded, and its confirmed commits without \
--persist are rolled back.")]
pub struct Unlock {
    /// The number of a partial lock
    #[arg(long, value_name = "NUMBER")]
    id: Option<u32>,

    /// Break the lock of another session
    #[arg(long)]
    force: bool,

    /// Release everything of the session, and end it
    #[arg(long, conflicts_with_all = ["id", "force"])]
    all: bool,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl Unlock {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let what = match (self.all, self.force) {
            (true, _) => DatastoreOperation::EndSession,
            (false, true) => DatastoreOperation::Unlock {
                id: self.id,
                of: LockOwner::Anybody,
            },
            (false, false) => DatastoreOperation::Unlock {
                id: self.id,
                of: LockOwner::Session,
            },
        };
        run_operation(&self.access, self.output_options, settings, "running", what)
    }
}

/// List the locks of a datastore, and its pending confirmed commit
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier locks --store embedded:data
  espalier locks --datastore candidate --store embedded:data --json")]
pub struct Locks {
    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl Locks {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        run_operation(
            &self.access,
            self.output_options,
            settings,
            "running",
            DatastoreOperation::Locks,
        )
    }
}
