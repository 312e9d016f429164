//! `espalier restore`.

use std::fs::File;
use std::path::PathBuf;

use clap::Args;
use espalier_store::{CheckedBackup, Error};

use crate::commands::transfer::{self, PhaseProgress};
use crate::endpoint;
use crate::settings::OutputOptions;
use espalier_terminal::{Failure, Result, url_name};

/// Restore a backup file into an engine
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier restore monday.backup embedded:restored
  espalier restore monday.backup sqlite:data.db --force

The whole file is checked before anything is written. If it is damaged, the error names the place, and the \
target is unchanged. An interrupted restore continues if the command is repeated. The target cannot be opened \
until the restore is complete and verified.")]
pub struct Restore {
    /// The backup
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The engine to restore to, which must be empty
    #[arg(value_name = "URL")]
    url: String,

    /// Delete the contents of the target first
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
        if let Err(Error::NotEmpty) = restored {
            return Err(transfer::failure(Error::NotEmpty).in_file(url_name(&self.url)));
        }
        transfer::print_report(self.output_options.json, "restored", to, restored)
            .map_err(|failure| failure.in_file(self.file.display()))
    }
}
