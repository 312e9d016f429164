//! `espalier check`.

use std::sync::Arc;

use clap::Args;
use espalier_documents::{Documents, Policy};
use espalier_keyspace::Finding;
use espalier_service::audit;
use espalier_stats::Stats;
use espalier_store::{Store, Subspace, Validation};
use serde_json::json;

use crate::commands::audit::failure as audit_failure;
use crate::commands::store_url::StoreUrl;
use crate::endpoint::{self, OpenMode};
use crate::settings::{OutputOptions, Settings};
use espalier_terminal::output;
use espalier_terminal::output::escaped;
use espalier_terminal::progress::Progress;
use espalier_terminal::{Failure, Result};

/// Examine a store: the engine's own structures, the catalog, every key and value of trees, statistics,
/// documents and the audit log
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier check embedded:data
  espalier check 'redis://127.0.0.1/0?prefix=net' --json

Exit status: 0 if nothing is wrong, else 1; with --json the findings are printed in both cases. A file of the \
store that other users can access is a warning, which does not change the exit status.")]
pub struct Check {
    #[command(flatten)]
    store_url: StoreUrl,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl Check {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let hint = "a store can be checked while it is served: --store embedded:DIR";
        let settings = self.store_url.over(settings, "check", hint)?;
        let driver = endpoint::open_driver(&settings, OpenMode::Existing)?;
        let mut progress = Progress::count("checking");
        let mut keys = 0;
        let mut unconstrained = Vec::new();
        // The engine is checked first: LMDB ends the process at a damaged page.
        let mut findings = driver.check()?;
        if findings.is_empty() {
            let store = endpoint::store_on(driver)?;
            unconstrained = unconstrained_anchors(&store)?;
            findings = store.check_data(&mut |done| {
                keys = done;
                progress.set(done);
            })?;
            let trees = keys;
            let statistics = Subspace::Statistics.key();
            findings.extend(Stats::check(&**store.driver(), &statistics, &mut |done| {
                keys = trees + done;
                progress.set(keys);
            })?);
            keys += check_documents(&store, &mut findings)?;
            keys += check_audit_log(&store, &mut findings)?;
        }
        progress.finish();
        // After the store was closed: an open one has more files.
        let warnings = [exposed_files(&settings)?, unconstrained].concat();
        let items: Vec<_> = findings
            .iter()
            .map(|finding| json!({"place": finding.place, "problem": finding.problem}))
            .collect();
        let mut lines: Vec<_> = findings
            .iter()
            .map(|finding| format!("{}: {}", finding.place, finding.problem))
            .chain(warnings.iter().map(|warning| format!("warning: {warning}")))
            .map(|line| escaped(&line).into_owned())
            .collect();
        lines.push(match findings.len() {
            0 => format!("checked {keys} keys: nothing is wrong"),
            1 => format!("checked {keys} keys: 1 finding"),
            count => format!("checked {keys} keys: {count} findings"),
        });
        let value = json!({"keys": keys, "findings": items, "warnings": warnings});
        output::print_result(self.output_options.json, &value, &lines.join("\n"))?;
        match findings.len() {
            0 => Ok(()),
            count => Err(Failure::data(match count {
                1 => "the store has a fault".to_owned(),
                count => format!("the store has {count} faults"),
            })
                .hint("`espalier repair` takes data that do not fit their models out into a file; for other faults restore a backup, or export what is readable into a new store")
                .answered()),
        }
    }
}

/// Warnings: files that others than their owner can read or write.
fn exposed_files(settings: &Settings) -> Result<Vec<String>> {
    let Some(url) = settings.store.as_deref() else {
        return Ok(Vec::new());
    };
    let exposed = espalier_drivers::exposed_files(url)?;
    let warnings = exposed.into_iter().map(|file| {
        let (path, mode, private) = (file.path.display(), file.mode, file.private_mode);
        format!("{path} can be read by others (mode {mode:04o}): chmod {private:04o} '{path}'")
    });
    Ok(warnings.collect())
}

/// Warnings: anchors whose constraints are not validated.
fn unconstrained_anchors(store: &Store) -> Result<Vec<String>> {
    let mut warnings = Vec::new();
    for dataspace in store.dataspaces()? {
        for anchor in store.anchors(&dataspace, None, usize::MAX)? {
            if anchor.validation == Validation::Structure {
                let name = anchor.name;
                warnings.push(format!(
                    "the anchor {name} of the dataspace {dataspace} is validated for structure and types only: its \
                     constraints are not checked (--validation full checks them from then on)"
                ));
            }
        }
    }
    Ok(warnings)
}

/// Checks every collection; returns the number of documents.
fn check_documents(store: &Store, findings: &mut Vec<Finding>) -> Result<u64> {
    let prefix = Subspace::Documents.key();
    let documents = Documents::new(Arc::clone(store.driver()), &prefix);
    let mut count = 0;
    let of_documents = |finding: espalier_documents::Finding| Finding {
        place: format!("documents {}", finding.place),
        problem: finding.problem,
    };
    findings.extend(documents.damaged()?.into_iter().map(of_documents));
    for info in documents.list()? {
        let found = documents
            .open(&info.name, Some(Policy::Uncached))
            .and_then(|collection| {
                count += collection.count()?;
                collection.check()
            });
        match found {
            Ok(found) => findings.extend(found.into_iter().map(of_documents)),
            Err(error) => findings.push(Finding {
                place: format!("documents {}", info.name),
                problem: error.to_string(),
            }),
        }
    }
    Ok(count)
}

/// Checks the audit log; returns the number of records.
fn check_audit_log(store: &Store, findings: &mut Vec<Finding>) -> Result<u64> {
    let checked = audit::check(&*store.driver().snapshot()?).map_err(audit_failure)?;
    findings.extend(checked.problems.into_iter().map(|problem| Finding {
        place: "audit log".to_owned(),
        problem,
    }));
    Ok(checked.records)
}
