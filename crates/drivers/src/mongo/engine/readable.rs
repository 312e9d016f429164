//! Documents for human readers (`readable=true`): one for each row that the lens decodes, with the version at
//! which it was written.
//!
//! They are written after a commit, for all commits since the last version that was written; if a process
//! crashes in between, the next committing process does it. Concurrent writers never replace a newer version
//! with an older one. A writer that finds that another one has started with a newer version checks its own
//! rows again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use espalier_keyspace::{Direction, KeyRange, Lens, Result, Snapshot, Version};
use mongodb::bson::{Bson, Document, doc};
use serde_json::Value;

use super::connection::WriteConcern;
use super::fields::{signed, version_in};
use super::names::{row_name, row_names};
use super::open::Engine;
use crate::mongo::snapshot::MongoSnapshot;
use crate::range_set::RangeSet;
use crate::readable_columns::{CachingSnapshot, Columns, final_columns};
use crate::recent_commits::ChangeRef;

/// Maximum number of rows of one write.
const ROWS_MAX: usize = 1000;

/// Maximum number of commits that are processed one by one; after more, all rows are written again.
const COMMITS_MAX: u64 = 1000;

/// Replaces a dot in the name of a leaf: in MongoDB, `a.b` is the field `b` of `a`.
const DOT: &str = "\u{ff0e}";

/// Estimated maximum bytes of one write: 4 MiB.
const BYTES_MAX: usize = 4 << 20;

/// Maximum bytes of a row's leaves as JSON; longer ones are left out: 1 MiB. As BSON they can be ten times as long.
const LEAVES_BYTES_MAX: usize = 1 << 20;

/// The rows whose documents have to be written again.
#[derive(Default)]
struct StaleRows {
    keys: BTreeSet<Vec<u8>>,
    ranges: RangeSet,
}

impl StaleRows {
    fn everything() -> Self {
        let mut stale = Self::default();
        stale.ranges.insert(&KeyRange::all());
        stale
    }
}

/// The versions of the documents for human readers.
struct ShownVersions {
    /// All documents are up to date with this version.
    shown: u64,
    /// A process has started to write the documents of this version.
    showing: u64,
}

impl Engine {
    /// Reads whether the key space has documents for human readers. Creates or deletes them as requested.
    pub(super) fn set_readable(&self, requested: Option<bool>) -> Result<()> {
        let is_readable = self.server.get("state", "readable")?.is_some();
        let changed = match requested {
            Some(true) if !is_readable => {
                self.server
                    .create_index("data", "path", doc! { "path": 1 })?;
                let mark = doc! { "_id": "readable", "version": 0_i64 };
                self.server
                    .insert("state", vec![mark], WriteConcern::Configured)
                    .map(drop)
                    .map_err(|failure| failure.error)
            }
            Some(false) if is_readable => {
                let mark = vec![doc! { "_id": "readable" }];
                let unmarked = self
                    .server
                    .delete("state", mark, 1, WriteConcern::Configured);
                let all = vec![doc! { "_id": { "$gte": "" } }];
                unmarked.and_then(|()| {
                    self.server
                        .delete("data", all, 100 * ROWS_MAX, WriteConcern::Configured)
                })
            }
            _ => Ok(()),
        };
        changed?;
        let is_readable = requested.unwrap_or(is_readable);
        self.is_readable.store(is_readable, Ordering::Release);
        Ok(())
    }

    /// Stores the lens if the key space has documents for human readers, and brings these up to date.
    pub(in crate::mongo) fn set_lens(self: &Arc<Self>, lens: Arc<dyn Lens>) -> Result<()> {
        if !self.is_readable.load(Ordering::Acquire) {
            return Ok(());
        }
        *self.lens.write() = Some(lens);
        self.update_readable()
    }

    /// Brings the documents up to date with a commit. A failure is only logged, as the commit stands.
    pub(in crate::mongo) fn show_commit(self: &Arc<Self>, version: Version) {
        if let Err(error) = self.update_readable() {
            let version = version.0;
            tracing::warn!(%error, version, "cannot update the readable documents; the next commit retries");
        }
    }

    fn update_readable(self: &Arc<Self>) -> Result<()> {
        let lens = self.lens.read();
        let Some(lens) = &*lens else {
            return Ok(());
        };
        // The version to check again, as another process has started with a newer one during the write.
        let mut recheck_from = None;
        loop {
            let Some(versions) = self.shown_versions()? else {
                // Another process has opened the key space with `readable=false`.
                self.is_readable.store(false, Ordering::Release);
                return Ok(());
            };
            let snapshot = MongoSnapshot::newest(self)?;
            let newest = snapshot.version().0;
            // Documents that are older than this version have not changed since.
            let from =
                recheck_from.map_or(versions.shown, |version: u64| version.min(versions.shown));
            if from >= newest {
                return Ok(());
            }
            let stale = self.stale_since(from, newest)?;
            // Announces the write, so that one of two concurrent writers checks its rows again.
            self.raise_version("showing", newest)?;
            self.write_stale(&**lens, &snapshot, &stale)?;
            self.raise_version("version", newest)?;
            if self
                .shown_versions()?
                .is_none_or(|versions| versions.showing <= newest)
            {
                return Ok(());
            }
            recheck_from = Some(newest);
        }
    }

    /// The versions of the documents; `None` if the key space has no documents for human readers.
    fn shown_versions(&self) -> Result<Option<ShownVersions>> {
        let document = self.server.get("state", "readable")?;
        Ok(document.map(|document| ShownVersions {
            shown: version_in(&document, "version").unwrap_or_default(),
            showing: version_in(&document, "showing").unwrap_or_default(),
        }))
    }

    fn raise_version(&self, field: &str, version: u64) -> Result<()> {
        let update =
            doc! { "q": { "_id": "readable" }, "u": { "$max": { field: signed(version) } } };
        self.server
            .update("state", vec![update], 1, WriteConcern::Configured)
    }

    /// The rows that commits changed after one version, up to another; all rows if that is not available.
    fn stale_since(&self, shown: u64, newest: u64) -> Result<StaleRows> {
        let mut stale = StaleRows::default();
        let mut after = shown;
        if shown == 0 || newest - shown > COMMITS_MAX {
            return Ok(StaleRows::everything());
        }
        while after < newest {
            let commits = self.commits_after(after, newest)?;
            if commits.is_empty() {
                return Ok(StaleRows::everything());
            }
            for commit in commits {
                let Some(changes) = commit.changes else {
                    return Ok(StaleRows::everything());
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

    fn write_stale(
        &self,
        lens: &dyn Lens,
        snapshot: &MongoSnapshot,
        stale: &StaleRows,
    ) -> Result<()> {
        let version = signed(snapshot.version().0);
        let state = CachingSnapshot::new(snapshot, &[]);
        for range in stale.ranges.iter() {
            let mut rows = RowUpdates::of(self, version);
            let mut cursor = snapshot.scan(&range, Direction::Forward)?;
            while let Some((key, value)) = cursor.next()? {
                if let Some(columns) = readable_columns(lens, &state, key, value) {
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
            self.server
                .delete("data", older, 100 * ROWS_MAX, WriteConcern::One)?;
        }
        let keys: Vec<_> = stale.keys.iter().map(Vec::as_slice).collect();
        for keys in keys.chunks(ROWS_MAX) {
            let (mut rows, mut absent) = (RowUpdates::of(self, version), Vec::new());
            for key in keys {
                let value = snapshot.get(key)?;
                match value.and_then(|value| readable_columns(lens, &state, key, &value)) {
                    Some(columns) => rows.push(key, columns)?,
                    None => absent.push(doc! { "_id": row_name(key), "m": { "$lt": version } }),
                }
            }
            rows.write()?;
            self.server
                .delete("data", absent, keys.len(), WriteConcern::One)?;
        }
        Ok(())
    }
}

/// Collects documents of rows and writes them.
struct RowUpdates<'a> {
    engine: &'a Engine,
    version: i64,
    updates: Vec<Document>,
    bytes: usize,
}

impl<'a> RowUpdates<'a> {
    fn of(engine: &'a Engine, version: i64) -> Self {
        Self {
            engine,
            version,
            updates: Vec::new(),
            bytes: 0,
        }
    }

    /// Adds the document of a row, which does not replace that of a newer version.
    fn push(&mut self, key: &[u8], columns: Columns) -> Result<()> {
        let leaves = columns.leaves.as_deref().unwrap_or_default();
        self.bytes += columns.path.len() + 4 * leaves.len();
        let mut fields = fields(columns);
        fields.insert("m", self.version);
        self.updates.push(doc! {
            "q": { "_id": row_name(key), "m": { "$lt": self.version } },
            // Replaces the whole document.
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
        self.engine
            .server
            .update("data", updates, count, WriteConcern::One)
    }
}

/// The columns of a row for human readers; `None` if the lens does not decode it.
fn readable_columns(
    lens: &dyn Lens,
    state: &dyn Snapshot,
    key: &[u8],
    value: &[u8],
) -> Option<Columns> {
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

/// Converts JSON to BSON.
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
