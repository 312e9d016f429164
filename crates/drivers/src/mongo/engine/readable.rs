//! The documents that people query, where the key space has them: one for each row that there is
//! something to read of, with the version that it was shown at.
//!
//! They are written after a commit, from where the last one left off; by whoever commits next when a
//! process dies in between. Two that do so at once cannot put an older version over a newer one, and who
//! sees that others went on meanwhile looks again at what it wrote.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use espalier_keyspace::{Direction, KeyRange, Lens, Result, Snapshot, Version};
use mongodb::bson::{Bson, Document, doc};
use serde_json::Value;

use super::connection::Sure;
use super::error::done;
use super::fields::{signed, version_in};
use super::names::{row_name, row_names};
use super::open::Engine;
use crate::mongo::snapshot::MongoSnapshot;
use crate::range_set::RangeSet;
use crate::readable_columns::{CachingSnapshot, Columns, final_columns};
use crate::recent_commits::ChangeRef;

/// Rows that are shown at once.
const ROWS_MAX: usize = 1000;

/// Commits that are followed one by one; after more, all rows are shown anew.
const COMMITS_MAX: u64 = 1000;

/// Stands for a dot in the name of a leaf: MongoDB would take `a.b` for the field `b` of `a`.
const DOT: &str = "\u{ff0e}";

/// Bytes of rows that are shown at once, as they are counted here: 4 MiB.
const BYTES_MAX: usize = 4 << 20;

/// Bytes of text that leaves have at most, to be shown: 1 MiB. As a document they can be ten times as long.
const LEAVES_BYTES_MAX: usize = 1 << 20;

/// What is to be shown anew.
#[derive(Default)]
struct Stale {
    keys: BTreeSet<Vec<u8>>,
    ranges: RangeSet,
}

impl Stale {
    fn everything() -> Self {
        let mut stale = Self::default();
        stale.ranges.insert(&KeyRange::all());
        stale
    }
}

/// The versions of what people see.
struct Mark {
    /// Everything up to this one is shown.
    shown: u64,
    /// A process has begun to show this one.
    showing: u64,
}

impl Engine {
    /// Whether the key space has documents for people; makes it so or not where the URL says.
    pub(super) fn set_readable(&self, wanted: Option<bool>) -> Result<()> {
        let is_readable = self.server.get("state", "readable")?.is_some();
        let changed = match wanted {
            Some(true) if !is_readable => {
                self.server.make_index("data", "path", doc! { "path": 1 })?;
                let mark = doc! { "_id": "readable", "version": 0_i64 };
                self.server
                    .insert("state", vec![mark], Sure::AsAsked)
                    .map(drop)
            }
            Some(false) if is_readable => {
                let mark = vec![doc! { "_id": "readable" }];
                let unmarked = self.server.delete("state", mark, 1, Sure::AsAsked);
                let all = vec![doc! { "_id": { "$gte": "" } }];
                unmarked.and_then(|()| {
                    self.server
                        .delete("data", all, 100 * ROWS_MAX, Sure::AsAsked)
                })
            }
            _ => Ok(()),
        };
        done(changed)?;
        let is_readable = wanted.unwrap_or(is_readable);
        self.is_readable.store(is_readable, Ordering::Release);
        Ok(())
    }

    /// Keeps the lens where there are documents for what it shows, and shows what is not shown yet.
    pub(in crate::mongo) fn show_through(self: &Arc<Self>, lens: Arc<dyn Lens>) -> Result<()> {
        if !self.is_readable.load(Ordering::Acquire) {
            return Ok(());
        }
        *self.lens.write() = Some(lens);
        self.show_newest()
    }

    /// Shows what commits changed, up to a version at least. That it cannot be shown does not undo it.
    pub(in crate::mongo) fn show(self: &Arc<Self>, version: Version) {
        if let Err(error) = self.show_newest() {
            let version = version.0;
            tracing::warn!(%error, version, "people do not see what was committed until the next");
        }
    }

    fn show_newest(self: &Arc<Self>) -> Result<()> {
        let lens = self.lens.read();
        let Some(lens) = &*lens else {
            return Ok(());
        };
        // The version that was shown last, and that others went on from meanwhile.
        let mut again = None;
        loop {
            let Some(mark) = self.mark()? else {
                // Another process has turned it off.
                self.is_readable.store(false, Ordering::Release);
                return Ok(());
            };
            let snapshot = MongoSnapshot::newest(self)?;
            let newest = snapshot.version().0;
            // What was shown then is not older than that, unless it has changed since.
            let from = again.map_or(mark.shown, |again: u64| again.min(mark.shown));
            if from >= newest {
                return Ok(());
            }
            let stale = self.stale_since(from, newest)?;
            // Others see that this is being written, so that one of the two looks again.
            self.raise("showing", newest)?;
            self.show_stale(&**lens, &snapshot, &stale)?;
            self.raise("version", newest)?;
            if self.mark()?.is_none_or(|mark| mark.showing <= newest) {
                return Ok(());
            }
            again = Some(newest);
        }
    }

    /// What is shown; `None` where nothing is to be.
    fn mark(&self) -> Result<Option<Mark>> {
        let mark = self.server.get("state", "readable")?;
        Ok(mark.map(|mark| Mark {
            shown: version_in(&mark, "version").unwrap_or_default(),
            showing: version_in(&mark, "showing").unwrap_or_default(),
        }))
    }

    fn raise(&self, field: &str, version: u64) -> Result<()> {
        let update =
            doc! { "q": { "_id": "readable" }, "u": { "$max": { field: signed(version) } } };
        done(self.server.update("state", vec![update], 1, Sure::AsAsked))
    }

    /// What commits after a version changed, up to another; everything where that is not known.
    fn stale_since(&self, shown: u64, newest: u64) -> Result<Stale> {
        let mut stale = Stale::default();
        let mut after = shown;
        if shown == 0 || newest - shown > COMMITS_MAX {
            return Ok(Stale::everything());
        }
        while after < newest {
            let commits = self.commits_after(after, newest)?;
            if commits.is_empty() {
                return Ok(Stale::everything());
            }
            for commit in commits {
                let Some(changes) = commit.changes else {
                    return Ok(Stale::everything());
                };
                for change in changes.iter() {
                    match change {
                        ChangeRef::Put(key, _) | ChangeRef::Delete(key) => {
                            stale.keys.insert(key.to_vec());
                        }
                        ChangeRef::DeleteRange(start, end) => stale.ranges.insert(&KeyRange {
                            start: start.to_vec(),
                            end: end.map(<[u8]>::to_vec),
                        }),
                    }
                }
                after = commit.version;
            }
        }
        Ok(stale)
    }

    fn show_stale(&self, lens: &dyn Lens, snapshot: &MongoSnapshot, stale: &Stale) -> Result<()> {
        let version = signed(snapshot.version().0);
        let state = CachingSnapshot::new(snapshot, &[]);
        for range in stale.ranges.iter() {
            let mut rows = Rows::of(self, version);
            let mut cursor = snapshot.scan(&range, Direction::Forward)?;
            while let Some((key, value)) = cursor.next()? {
                if let Some(columns) = shown(lens, &state, key, value) {
                    rows.push(key, columns)?;
                }
            }
            rows.write()?;
            let (from, to) = row_names(&range);
            let mut ids = doc! { "$gte": from };
            if let Some(to) = to {
                ids.insert("$lt", to);
            }
            let older = vec![doc! { "_id": ids, "m": { "$lt": version } }];
            done(
                self.server
                    .delete("data", older, 100 * ROWS_MAX, Sure::Soon),
            )?;
        }
        let keys: Vec<_> = stale.keys.iter().map(Vec::as_slice).collect();
        for keys in keys.chunks(ROWS_MAX) {
            let (mut rows, mut gone) = (Rows::of(self, version), Vec::new());
            for key in keys {
                let value = snapshot.get(key)?;
                match value.and_then(|value| shown(lens, &state, key, &value)) {
                    Some(columns) => rows.push(key, columns)?,
                    None => gone.push(doc! { "_id": row_name(key), "m": { "$lt": version } }),
                }
            }
            rows.write()?;
            done(self.server.delete("data", gone, keys.len(), Sure::Soon))?;
        }
        Ok(())
    }
}

/// Rows that are about to be shown.
struct Rows<'a> {
    engine: &'a Engine,
    version: i64,
    updates: Vec<Document>,
    bytes: usize,
}

impl<'a> Rows<'a> {
    fn of(engine: &'a Engine, version: i64) -> Self {
        Self {
            engine,
            version,
            updates: Vec::new(),
            bytes: 0,
        }
    }

    /// Shows a row, unless a newer version of it is shown.
    fn push(&mut self, key: &[u8], columns: Columns) -> Result<()> {
        let leaves = columns.leaves.as_deref().unwrap_or_default();
        self.bytes += columns.path.len() + 4 * leaves.len();
        let mut fields = fields(columns);
        fields.insert("m", self.version);
        self.updates.push(doc! {
            "q": { "_id": row_name(key), "m": { "$lt": self.version } },
            // All of it: what the row had before is gone.
            "u": fields,
            "upsert": true,
        });
        match self.updates.len() >= ROWS_MAX || self.bytes >= BYTES_MAX {
            true => self.write(),
            false => Ok(()),
        }
    }

    fn write(&mut self) -> Result<()> {
        self.bytes = 0;
        let updates = std::mem::take(&mut self.updates);
        let count = updates.len();
        done(
            self.engine
                .server
                .update("data", updates, count, Sure::Soon),
        )
    }
}

/// What people read of a row; `None` where that is nothing.
fn shown(lens: &dyn Lens, state: &dyn Snapshot, key: &[u8], value: &[u8]) -> Option<Columns> {
    let columns = final_columns(lens, state, key, value);
    columns.node.is_some().then_some(columns)
}

fn fields(columns: Columns) -> Document {
    let mut fields = doc! { "path": columns.path };
    for (name, text) in [("document", columns.document), ("node", columns.node)] {
        if let Some(text) = text {
            fields.insert(name, text);
        }
    }
    let leaves = columns
        .leaves
        .filter(|leaves| leaves.len() <= LEAVES_BYTES_MAX);
    let leaves = leaves.map(|leaves| serde_json::from_str(&leaves));
    if let Some(Ok(leaves)) = leaves {
        fields.insert("leaves", bson(leaves));
    }
    fields
}

/// JSON as MongoDB has it.
fn bson(value: Value) -> Bson {
    match value {
        Value::Null => Bson::Null,
        Value::Bool(value) => Bson::Boolean(value),
        Value::Number(number) => match number.as_i64() {
            Some(number) => Bson::Int64(number),
            None => Bson::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Bson::String(text),
        Value::Array(values) => Bson::Array(values.into_iter().map(bson).collect()),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            let fields = fields.map(|(name, value)| (name.replace('.', DOT), bson(value)));
            Bson::Document(fields.collect())
        }
    }
}
