//! `espalier check`.

use clap::Args;
use serde_json::json;

use crate::cli;
use crate::error::{Failure, Result};
use crate::progress::Progress;
use crate::settings::{Access, Settings, Talk};
use crate::target;

/// Examine a store: the engine's own structures, the catalog, every key and value
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier check embedded:data
  espalier check 'redis://127.0.0.1/0?prefix=net' --json

Exit status 0 where nothing is wrong, 1 where something is.")]
pub struct Check {
    /// The store, as --store names it
    #[arg(value_name = "URL", conflicts_with_all = ["store", "server"])]
    url: Option<String>,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub talk: Talk,
}

impl Check {
    /// Runs it.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let settings = Settings::from(&self.access)
            .over(settings)
            .at(self.url.as_deref());
        if settings.server.is_some() {
            return Err(
                Failure::usage("check works on a store, not through a server")
                    .hint("a store can be checked while it is served: --store embedded:DIR"),
            );
        }
        let driver = target::open_driver(&settings)?;
        let mut progress = Progress::count("checking");
        let mut keys = 0;
        // The engine first: LMDB ends the process where it meets a damaged page.
        let mut findings = driver.check()?;
        if findings.is_empty() {
            findings = target::store_on(driver)?.check_data(&mut |done| {
                keys = done;
                progress.set(done);
            })?;
        }
        progress.finish();
        let items: Vec<_> = findings
            .iter()
            .map(|finding| json!({"place": finding.place, "problem": finding.problem}))
            .collect();
        let mut lines: Vec<_> = findings
            .iter()
            .map(|finding| format!("{}: {}", finding.place, finding.problem))
            .collect();
        lines.push(match findings.len() {
            0 => format!("checked {keys} keys: nothing is wrong"),
            count => format!("checked {keys} keys: {count} findings"),
        });
        let value = json!({"keys": keys, "findings": items});
        cli::answer(self.talk.json, &value, &lines.join("\n"))?;
        match findings.len() {
            0 => Ok(()),
            count => Err(Failure::data(format!("the store has {count} faults"))
                .hint("restore a backup, or export what is readable into a new store")),
        }
    }
}
