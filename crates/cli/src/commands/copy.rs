//! `espalier copy`.

use clap::Args;

use crate::commands::transfer::{self, PhaseProgress};
use crate::endpoint;
use crate::settings::OutputOptions;
use espalier_terminal::{Failure, Result, url_name};

/// Copy everything in one engine to another, of any kind: trees, history, statistics
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier copy embedded:data sqlite:data.db
  espalier copy sqlite:data.db 'postgres://me@db.example/net?password_file=/run/db&schema=net'
  espalier copy redis://127.0.0.1/0 embedded:data --force

The source may be served and written to during the copy, which contains the state at its start. An interrupted \
copy continues if the command is repeated. The target cannot be opened until the copy is complete and verified. \
Locks and pending confirmed commits are copied too.")]
pub struct Copy {
    /// The engine to copy, as in `--store` of other commands
    #[arg(value_name = "FROM_URL")]
    from: String,

    /// The engine to copy to, which must be empty
    #[arg(value_name = "TO_URL")]
    to: String,

    /// Delete the contents of the target first
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl Copy {
    /// Runs the command.
    pub fn run(&self) -> Result<()> {
        if endpoint::is_same_store(&self.from, &self.to) {
            return Err(
                Failure::usage("the source and the target are the same store")
                    .hint("name another target"),
            );
        }
        let from = endpoint::open_source(&self.from)?;
        // Checked before the target is opened, which creates it.
        espalier_store::check_source(&*from).map_err(transfer::failure)?;
        let to = endpoint::open_target(&self.to)?;
        let total = from.usage()?.keys;
        let mut progress = PhaseProgress::new("copying", Some(total));
        let name = url_name(&self.from);
        let copied = espalier_store::copy(
            &*from,
            &name,
            &*to,
            transfer::existing_rows(self.force),
            &mut |phase, rows| progress.update(phase, rows),
        );
        progress.finish();
        transfer::print_report(self.output_options.json, "copied", to, copied)
    }
}
