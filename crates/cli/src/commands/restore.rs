//! `espalier restore`.

use std::fs::File;
use std::path::PathBuf;

use clap::Args;
use espalier_store::CheckedBackup;

use crate::commands::transfer::{self, PhaseProgress};
use crate::endpoint;
use crate::settings::OutputOptions;
use espalier_terminal::{Failure, Result};

/// Bring the backup in a file into an engine
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier restore monday.backup embedded:restored
  espalier restore monday.backup sqlite:data.db --force

The file is checked to its end before anything is written; a damaged one is refused with the place, \
and the endpoint is what it was (nothing, where there was nothing). \
A restore that was interrupted goes on when it is called again. The endpoint cannot be opened before \
everything is there and was compared with the file.")]
pub struct Restore {
    /// The backup
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The engine to restore to, which holds nothing yet
    #[arg(value_name = "URL")]
    url: String,

    /// Delete what the target holds
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl Restore {
    /// Runs the command.
    pub fn run(&self) -> Result<()> {
        let file = File::open(&self.file).map_err(|error| {
            Failure::usage(format!("the backup cannot be read: {error}"))
                .in_file(self.file.display())
        })?;
        let mut progress = PhaseProgress::new("checking", None);
        let checked = CheckedBackup::read(&file, &mut |phase, rows| progress.update(phase, rows));
        let checked =
            checked.map_err(|error| transfer::failure(error).in_file(self.file.display()))?;
        // Opened last, as opening creates the target.
        let to = endpoint::open_target(&self.url)?;
        let restored = checked.restore(
            &*to,
            transfer::existing_rows(self.force),
            &mut |phase, rows| progress.update(phase, rows),
        );
        progress.finish();
        transfer::print_report(self.output_options.json, "restored", to, restored)
            .map_err(|failure| failure.in_file(self.file.display()))
    }
}
