//! The fields that people query, where versions have them.
//!
//! A version is written without them and filled in after its commit, by whoever commits next when
//! that process dies in between. Versions never change, so nothing can come in between.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use espalier_keyspace::{Driver, Lens, Result, Snapshot};
use mongodb::bson::{Bson, Document, doc};
use serde_json::Value;

use super::connection::{Query, Sure};
use super::error::corrupt;
use super::names::Kind;
use super::open::Engine;
use crate::readable::{Columns, Remembering, columns_at_last};

/// Versions that are filled in at once.
const ROWS_MAX: usize = 1000;

/// Stands for a dot in the name of a leaf: MongoDB would take `a.b` for the field `b` of `a`.
const DOT: &str = "\u{ff0e}";

/// A value that stands in its version, as [`crate::staged`] marks it.
const SHORT: u8 = 0;

impl Engine {
    /// Whether the key space has fields for people; makes it so or not where the URL says.
    pub(super) fn set_readable(&self, wanted: Option<bool>) -> Result<()> {
        let is_readable = self.server.get("state", "readable")?.is_some();
        let changed = match wanted {
            Some(true) if !is_readable => {
                self.server.make_index("data", "path", doc! { "path": 1 })?;
                let mark = doc! { "_id": "readable" };
                self.server
                    .insert("state", vec![mark], Sure::Last)
                    .map(drop)
            }
            Some(false) if is_readable => self.take_fields_away(),
            _ => Ok(()),
        };
        changed.map_err(|trouble| trouble.error)?;
        let is_readable = wanted.unwrap_or(is_readable);
        self.is_readable.store(is_readable, Ordering::Release);
        Ok(())
    }

    fn take_fields_away(&self) -> std::result::Result<(), super::error::Trouble> {
        let fields = doc! { "$unset": { "document": 1, "node": 1, "path": 1, "leaves": 1 } };
        let filled = doc! { "path": { "$gte": "" } };
        let update = doc! { "q": filled, "u": fields, "multi": true };
        self.server
            .update("data", vec![update], 100 * ROWS_MAX, Sure::Last)?;
        let mark = vec![doc! { "_id": "readable" }];
        self.server.delete("state", mark, 1, Sure::Last)
    }

    /// Keeps the lens where there are fields for what it shows, and fills in what has none yet.
    pub(in crate::mongo) fn show_through(
        &self,
        lens: Arc<dyn Lens>,
        driver: &dyn Driver,
    ) -> Result<()> {
        if !self.is_readable.load(Ordering::Acquire) {
            return Ok(());
        }
        *self.lens.write() = Some(lens);
        self.fill_in(driver)
    }

    /// Fills in what a commit wrote. That it cannot be shown does not undo it.
    pub(in crate::mongo) fn show(&self, driver: &dyn Driver) {
        if let Err(error) = self.fill_in(driver) {
            tracing::warn!(%error, "people do not see what was committed until the next commit");
        }
    }

    fn fill_in(&self, driver: &dyn Driver) -> Result<()> {
        let lens = self.lens.read();
        let Some(lens) = &*lens else {
            return Ok(());
        };
        loop {
            let never = doc! { "$exists": false };
            let unfilled = doc! { "path": never.clone(), "until": never.clone(), "pending": never };
            let mut query = Query::new(unfilled, 1, ROWS_MAX);
            query.fields = doc! { "v": 1 };
            let rows = self.server.find("data", query)?;
            if rows.is_empty() {
                return Ok(());
            }
            let state = driver.snapshot()?;
            let state = Remembering::new(&*state, &[]);
            let shown = rows.iter().map(|row| filled(&**lens, &state, row));
            let shown = shown.collect::<Result<Vec<_>>>()?;
            let filled = self.server.update("data", shown, rows.len(), Sure::Soon);
            filled.map_err(|trouble| trouble.error)?;
            if rows.len() < ROWS_MAX {
                return Ok(());
            }
        }
    }
}

/// The update that fills a version in.
fn filled(lens: &dyn Lens, state: &dyn Snapshot, row: &Document) -> Result<Document> {
    let parts = || {
        let id = row.get_str("_id").ok()?;
        let value = row.get_binary_generic("v").ok()?;
        Some((id, Kind::Data.cell(id)?, value))
    };
    let (id, cell, value) = parts().ok_or_else(|| corrupt("a version of a cell"))?;
    let key = cell.get(1..).unwrap_or_default();
    let columns = match value.split_first() {
        Some((&SHORT, value)) => columns_at_last(lens, state, key, value),
        // A long value, which stands elsewhere.
        _ => match state.get(key)? {
            Some(value) => columns_at_last(lens, state, key, &value),
            None => Columns::default(),
        },
    };
    Ok(doc! { "q": { "_id": id }, "u": { "$set": fields(columns) } })
}

fn fields(columns: Columns) -> Document {
    let mut fields = doc! { "path": columns.path };
    for (name, text) in [("document", columns.document), ("node", columns.node)] {
        if let Some(text) = text {
            fields.insert(name, text);
        }
    }
    let leaves = columns.leaves.map(|leaves| serde_json::from_str(&leaves));
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
