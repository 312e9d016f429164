//! `espalier rollback`.

use clap::Args;

use crate::endpoint::{self, Rollback as Request};
use crate::settings::{Access, OutputOptions, Settings};
use espalier_terminal::Result;

/// Restore an earlier version in a new commit
#[derive(Args, Debug)]
#[command(after_help = "\
The commit is validated like any other. The versions in between stay in the history, so a rollback can be rolled \
back too.

Examples:
  espalier history --store embedded:data      # find the version
  espalier diff 2 1 --store embedded:data     # see what would change, if 2 is the newest
  espalier rollback 1 --comment 'the new name is taken' --store embedded:data")]
pub struct Rollback {
    /// The version
    version: u64,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl Rollback {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let settings = Settings::from(&self.access).over(settings);
        let endpoint = endpoint::open(&settings)?;
        let comment = settings.comment.clone();
        let changed = endpoint.rollback(&Request {
            version: self.version,
            author: settings.author().to_owned(),
            comment: comment.unwrap_or_else(|| format!("rollback to {}", self.version)),
        })?;
        let text = match (changed.is_changed, changed.version) {
            (Some(false), _) => "nothing differs".to_owned(),
            (_, Some(version)) => format!("version {version}"),
            _ => String::new(),
        };
        changed.print(self.output_options.json, &text)
    }
}
