//! `espalier repair`.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use espalier_store::{Error, Removed, Repair as Repaired, RepairOutput, UpgradeOptions};
use serde_json::json;

use crate::commands::store_url::StoreUrl;
use crate::endpoint;
use crate::settings::{OutputOptions, Settings};
use espalier_terminal::output;
use espalier_terminal::output_file::{self, Existing};
use espalier_terminal::{Failure, Result};

/// Move data that do not conform to the models out of a store, into a file
#[derive(Args, Debug)]
#[command(after_help = "\
Removes what `check` finds in the data: values of another type, data of nodes that the models do not have, \
entries with other keys. Without --output, or with --dry-run, it only lists them. With --output, they are written \
to the file first (one JSON object in each line, with the path, the readable values, and the row itself), and then \
removed in a commit of the history.

Examples:
  espalier repair embedded:data
  espalier repair embedded:data --output removed.jsonl --json")]
pub struct Repair {
    /// The file for the removed data; it must not exist
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    store_url: StoreUrl,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl Repair {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let hint = "name the store: espalier repair embedded:DIR";
        let settings = self.store_url.over(settings, "repair", hint)?;
        let store = endpoint::open_store(&settings)?;
        let options = UpgradeOptions {
            author: settings.author(),
            comment: settings.comment.as_deref().unwrap_or("repair"),
            session: settings.session(),
            ..UpgradeOptions::default()
        };
        let output = self.output.as_deref().filter(|_| !settings.dry_run);
        let mut file = output
            .map(|path| RemovedRows::create(path, settings.store.as_deref()))
            .transpose()?;
        let repairs = store.repair(
            options,
            file.as_mut().map(|file| file as &mut dyn RepairOutput),
        );
        let repairs = repairs.map_err(|error| match (error, output) {
            (Error::Write(error), Some(path)) => {
                Failure::data(format!("what is taken out cannot be written: {error}"))
                    .in_file(path.display())
            }
            (error, _) => error.into(),
        })?;
        let rows: u64 = repairs.iter().map(|repair| repair.rows).sum();
        let value = json!({
            "datastores": repairs.iter().map(json_of).collect::<Vec<_>>(),
            "rows": rows,
            "repaired": output.is_some(),
        });
        output::print_result(
            self.output_options.json,
            &value,
            &text_of(&repairs, rows, output),
        )
    }
}

/// The file with the removed rows.
struct RemovedRows {
    file: BufWriter<File>,
}

impl RemovedRows {
    fn create(path: &Path, store: Option<&str>) -> Result<Self> {
        output_file::check(path, Existing::Ask, store)?;
        // It has its name from the beginning: an interrupted repair has removed the rows in it.
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path);
        let file = file.map_err(|error| {
            Failure::usage(format!("the file cannot be made: {error}")).in_file(path.display())
        })?;
        Ok(Self {
            file: BufWriter::new(file),
        })
    }
}

impl RepairOutput for RemovedRows {
    fn row(&mut self, removed: &Removed) -> espalier_store::Result<()> {
        write_line(&mut self.file, removed).map_err(Error::Write)
    }

    fn sync(&mut self) -> espalier_store::Result<()> {
        let flushed = self.file.flush();
        let synced = flushed.and_then(|()| self.file.get_ref().sync_all());
        synced.map_err(Error::Write)
    }
}

fn write_line(out: &mut impl Write, removed: &Removed) -> io::Result<()> {
    let values: serde_json::Map<_, _> = removed
        .values
        .iter()
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    let line = json!({
        "anchor": removed.anchor,
        "datastore": removed.datastore.name(),
        "session": removed.session,
        "path": removed.path,
        "values": values,
        "key": removed.key,
        "row": removed.row,
    });
    writeln!(out, "{line}")
}

fn json_of(repair: &Repaired) -> serde_json::Value {
    let places = |places: &espalier_store::Places| {
        let shown = places.shown.iter();
        let shown: Vec<_> = shown
            .map(|place| json!({"path": place.path, "problem": place.change}))
            .collect();
        json!({"count": places.count, "places": shown})
    };
    let violations: Vec<_> = repair.violations.iter().map(ToString::to_string).collect();
    json!({
        "anchor": repair.anchor,
        "datastore": repair.datastore.name(),
        "session": repair.session,
        "removed": places(&repair.removed),
        "converted": places(&repair.converted),
        "rows": repair.rows,
        "version": repair.version,
        "violations": violations,
    })
}

fn text_of(repairs: &[Repaired], rows: u64, output: Option<&Path>) -> String {
    let mut lines = Vec::new();
    for repair in repairs {
        let name = format!(
            "{} {} {}",
            repair.anchor,
            repair.datastore.name(),
            repair.session
        );
        for places in [&repair.removed, &repair.converted] {
            let shown = places.shown.iter();
            lines.extend(shown.map(|place| format!("{name}{}: {}", place.path, place.change)));
            let more = places.count - places.shown.len() as u64;
            if more > 0 {
                lines.push(format!("{name}: and {more} more places"));
            }
        }
        let violations = repair.violations.iter();
        lines.extend(violations.map(|error| format!("{name}: what is left is not valid: {error}")));
    }
    lines.push(match (repairs.is_empty(), output) {
        (true, _) => "everything fits the models".to_owned(),
        (false, Some(file)) => format!(
            "{rows} rows were changed; what they held is in {}",
            file.display()
        ),
        (false, None) => {
            format!("{rows} rows would be changed; --output FILE takes out what does not fit")
        }
    });
    lines.join("\n")
}
