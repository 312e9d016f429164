//! `espalier documents watch`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use espalier_documents::{Collection, Event, Selection, Version};
use serde_json::{Value as Json, json};

use super::arguments::StoreOption;
use crate::settings::Settings;
use espalier_terminal::Result;
use espalier_terminal::output::{self, Form};

/// The longest wait for one event.
const WAIT_MAX: Duration = Duration::from_secs(3600);

/// The pause after the collection was read again.
const GAP_PAUSE: Duration = Duration::from_millis(100);

/// Print the changes of a collection as they happen, from all processes
#[derive(Args, Debug)]
#[command(after_help = "\
Prints JSON lines: first {\"version\":9} when watching begins; then for each changed document its key, its new \
content or that it was deleted, and the version. If an engine does not report the changes of other processes \
(embedded, sqlite), the collection is read again and compared: a document that was changed twice in between is \
printed once. Needs 16 bytes for each document in memory.
A server has the same at /documents/COLLECTION/changes.

Examples:
  espalier documents watch cars --for 1 --store embedded:garage
  espalier documents watch cars --count 10 --store 'redis://127.0.0.1/0?prefix=garage'")]
pub struct Watch {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    collection: String,

    /// End after this many changes
    #[arg(long, value_name = "NUMBER")]
    count: Option<u64>,

    /// End after this time
    #[arg(long = "for", value_name = "SECONDS")]
    seconds: Option<u64>,

    #[command(flatten)]
    pub store_option: StoreOption,
}

impl Watch {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let collection = self.store_option.collection(settings, &self.collection)?;
        let end = self.seconds.map(Duration::from_secs);
        let end = end.and_then(|seconds| Instant::now().checked_add(seconds));
        let mut feed = collection.watch(None)?;
        // Read after the feed began, so that no change is missed.
        let mut printer = ChangePrinter {
            collection,
            hasher: RandomState::new(),
            hashes: HashMap::new(),
            left: self.count.unwrap_or(u64::MAX),
        };
        printer.differences()?;
        print(&json!({ "version": feed.begin().0 }))?;
        while printer.left > 0 {
            let wait = end.map_or(WAIT_MAX, |end| {
                end.saturating_duration_since(Instant::now())
            });
            match feed.next(wait)? {
                Some(Event::Commit { version, changes }) => {
                    printer.print_commit(version, changes)?
                }
                Some(Event::Gap { version }) => {
                    let changes = printer.differences()?;
                    printer.print(version, changes)?;
                    // Changes during the pause are read together.
                    thread::sleep(GAP_PAUSE);
                }
                None if end.is_some_and(|end| Instant::now() >= end) => break,
                None => {}
            }
        }
        Ok(())
    }
}

/// The changed documents by key; `None` for deleted ones.
type Changes = BTreeMap<u64, Option<Arc<Json>>>;

/// Prints the changes of a collection. Keeps a hash of each document to detect changes.
struct ChangePrinter {
    collection: Collection<Json>,
    hasher: RandomState,
    hashes: HashMap<u64, u64>,
    /// How many changes are still to be printed.
    left: u64,
}

impl ChangePrinter {
    /// Records a document; returns whether it differs from the recorded one.
    fn record(&mut self, key: u64, document: Option<&Json>) -> bool {
        let Some(document) = document else {
            return self.hashes.remove(&key).is_some();
        };
        let now = self.hasher.hash_one(document.to_string());
        self.hashes.insert(key, now) != Some(now)
    }

    /// Prints the changes of a commit that are not recorded yet.
    fn print_commit(
        &mut self,
        version: Version,
        changes: Vec<(u64, Option<Arc<Json>>)>,
    ) -> Result<()> {
        let changes = changes.into_iter();
        let new = changes.filter(|(key, document)| self.record(*key, document.as_deref()));
        let new = new.collect();
        self.print(version, new)
    }

    /// Reads the collection; returns the differences from the recorded documents.
    fn differences(&mut self) -> Result<Changes> {
        let mut gone: BTreeSet<u64> = self.hashes.keys().copied().collect();
        let mut changed = Changes::new();
        let collection = self.collection.clone();
        collection.for_each(Selection::all(), |key, document| {
            gone.remove(&key);
            if self.record(key, Some(&document)) {
                changed.insert(key, Some(document));
            }
            ControlFlow::Continue(())
        })?;
        for key in gone {
            self.hashes.remove(&key);
            changed.insert(key, None);
        }
        Ok(changed)
    }

    fn print(&mut self, version: Version, changes: Changes) -> Result<()> {
        for (key, document) in changes {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            let version = version.0;
            print(&match document {
                Some(document) => json!({"version": version, "key": key, "document": *document}),
                None => json!({"version": version, "key": key, "deleted": true}),
            })?;
        }
        Ok(())
    }
}

/// Prints a line and flushes it, also into a pipe.
fn print(value: &Json) -> Result<()> {
    let mut out = output::stdout(Form::Json);
    writeln!(out, "{value}")?;
    Ok(out.flush()?)
}
