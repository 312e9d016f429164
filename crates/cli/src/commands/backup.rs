//! `espalier backup`.

use std::path::PathBuf;

use clap::Args;
use espalier_store::{Clock, Error, SystemClock};
use serde_json::json;

use crate::commands::transfer::PhaseProgress;
use crate::endpoint;
use crate::settings::OutputOptions;
use espalier_terminal::output;
use espalier_terminal::output_file::{self, Existing, OutputFile};
use espalier_terminal::{Failure, Result};

/// Write everything in an engine to a file, while it is served
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier backup embedded:data monday.backup
  espalier backup 'postgres://me@db.example/net?password_file=/run/secrets/db' /backups/net.backup
  espalier restore monday.backup embedded:restored

The file contains the state at the start of the backup. It gets its name when it is complete and on disk. It is \
compressed and has checksums; docs/formats.md describes it.")]
pub struct Backup {
    /// The engine, as in `--store` of other commands
    #[arg(value_name = "URL")]
    url: String,

    /// The file to write
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Replace the file if it exists
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl Backup {
    /// Runs the command.
    pub fn run(&self) -> Result<()> {
        if self.file.exists() && !self.file.is_file() {
            return Err(Failure::usage("that is no file, and is not replaced")
                .in_file(self.file.display())
                .hint("choose another name"));
        }
        output_file::check(&self.file, Existing::of(self.force), Some(&self.url))?;
        let from = endpoint::open_source(&self.url)?;
        let total = from.usage()?.keys;
        let mut unfinished = OutputFile::create(&self.file)?;
        let mut progress = PhaseProgress::new("writing", Some(total));
        let written = espalier_store::backup(
            &*from,
            unfinished.writer(),
            SystemClock.now(),
            &mut |phase, rows| progress.update(phase, rows),
        );
        progress.finish();
        let written = written.map_err(|error| match error {
            Error::Write(error) => Failure::data(format!("the backup cannot be written: {error}"))
                .in_file(self.file.display()),
            error => Failure::from(error).in_file(self.file.display()),
        })?;
        unfinished.finish()?;
        let digest = written.digest;
        let value = json!({
            "file": self.file,
            "file-bytes": written.file_bytes,
            "version": written.version,
            "rows": digest.rows,
            "bytes": digest.bytes,
            "digest": digest.hex(),
        });
        let text = format!(
            "wrote {} rows ({} bytes) to {} ({} bytes)",
            digest.rows,
            digest.bytes,
            self.file.display(),
            written.file_bytes
        );
        output::print_result(self.output_options.json, &value, &text)
    }
}
