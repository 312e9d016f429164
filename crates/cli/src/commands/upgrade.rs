//! `espalier upgrade`.

use clap::Args;
use espalier_service::operations::upgrade_json;

use crate::endpoint::{self, OpenMode, Remote};
use crate::modules;
use crate::settings::{Access, OutputOptions, Settings};
use espalier_terminal::output;
use espalier_terminal::{Failure, Result};

/// Replace the modules of a store, and convert its data
#[derive(Args, Debug)]
#[command(after_help = "\
All stored data must be valid under the new modules: running, startup, factory-default, pushed operational state \
and candidates. Values whose stored form changes are converted. Data of nodes that the new modules do not have are \
rejected, or removed with --drop-unknown. Every other command that writes does the same if --yang names other modules, \
and a command that reads rejects them; see docs/guide/upgrading.md.

Examples:
  espalier upgrade --yang network --dry-run --store embedded:data
  espalier upgrade --yang network --drop-unknown --comment 'release 2' --store embedded:data
  espalier upgrade --yang network --server http://127.0.0.1:8080")]
pub struct Upgrade {
    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl Upgrade {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let settings = Settings::from(&self.access).over(settings);
        let Some(source) = modules::source(&settings)? else {
            return Err(
                Failure::usage("upgrade puts modules into a store: name them")
                    .hint("add --yang FILE|DIR|NAME"),
            );
        };
        let report = match &settings.server {
            Some(server) => Remote::new(server, &settings)?.upgrade(&source, &settings)?,
            None => {
                let store = endpoint::open_store_for_command(&settings, OpenMode::Existing)?;
                let applied = endpoint::apply_modules(&store, &settings, Some(source))?;
                upgrade_json(&applied.report().cloned().unwrap_or_default())
            }
        };
        let text = match settings.dry_run {
            true => format!("{}\nnothing was changed", endpoint::upgrade_text(&report)),
            false => endpoint::upgrade_text(&report),
        };
        output::print_result(self.output_options.json, &report, &text)
    }
}
