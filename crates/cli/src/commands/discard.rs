//! `espalier discard`.

use clap::Args;

use crate::commands::acting::act;
use crate::settings::{Access, Settings, Talk};
use crate::target::Act;
use espalier_terminal::Result;

/// Forget what the candidate changes, so that it is as running
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier discard --store embedded:data
  espalier discard --datastore private-candidate --session maria --store embedded:data")]
pub struct Discard {
    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub talk: Talk,
}

impl Discard {
    /// Runs it.
    pub fn run(&self, settings: Settings) -> Result<()> {
        act(&self.access, self.talk, settings, "candidate", Act::Discard)
    }
}
