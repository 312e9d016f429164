//! Finding the versions of cells that hold at a revision.
//!
//! Those that have no end stand together in the index `live`, so that nobody passes by what was
//! replaced. A version that held at a revision and has ended since is asked for afterwards: in that
//! order none is missed, as a version that has its end never loses it.

use std::collections::BTreeMap;

use espalier_keyspace::Result;
use mongodb::bson::{Bson, Document, doc};

use super::chain::{revision_in, signed};
use super::connection::Query;
use super::error::corrupt;
use super::names::Kind;
use super::open::{Engine, LIVE};
use super::recent::Row;

/// The first `_id` that is meant, and the first after them where there is an end.
pub(in crate::mongo) type Span = (String, Option<String>);

/// Whether values are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mongo) enum Values {
    Read,
    Left,
}

/// Which versions are asked for.
#[derive(Clone, Debug)]
pub(in crate::mongo) struct Wanted {
    pub(in crate::mongo) kind: Kind,
    pub(in crate::mongo) spans: Vec<Span>,
    /// By `_id`; 1, -1, or 0 for any.
    pub(in crate::mongo) order: i32,
    pub(in crate::mongo) limit: usize,
    pub(in crate::mongo) values: Values,
}

/// Which versions there are to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mongo) enum View {
    /// All that hold at a revision.
    Whole,
    /// Those of them that have no end: the same, where there was no commit after the revision until
    /// the answer came.
    Live,
}

impl Engine {
    /// Versions that hold at a revision; all questions are sent at once.
    pub(in crate::mongo) fn versions(
        &self,
        wanted: &[Wanted],
        revision: u64,
        view: View,
    ) -> Result<Vec<Vec<Row>>> {
        let mut found = self.rows(wanted, revision, Ended::Never)?;
        if view == View::Live || !wanted.iter().any(|wanted| wanted.kind.has_past()) {
            return Ok(found);
        }
        let late = self.rows(wanted, revision, Ended::Since)?;
        for ((rows, late), wanted) in found.iter_mut().zip(late).zip(wanted) {
            if late.is_empty() {
                continue;
            }
            // What ended between the two questions is in both.
            let both = rows.drain(..).chain(late);
            let both: BTreeMap<_, _> = both.map(|row| (row.id.clone(), row)).collect();
            match wanted.order < 0 {
                true => rows.extend(both.into_values().rev()),
                false => rows.extend(both.into_values()),
            }
            rows.truncate(wanted.limit);
        }
        Ok(found)
    }

    fn rows(&self, wanted: &[Wanted], revision: u64, ended: Ended) -> Result<Vec<Vec<Row>>> {
        let queries = wanted.iter().map(|wanted| {
            let query = wanted.query(revision, ended);
            (wanted.kind.name(), query)
        });
        let found = self.server.find_all(queries.collect())?;
        let rows = found.into_iter().zip(wanted).map(|(found, wanted)| {
            let rows = found.into_iter().map(|document| {
                let row = row(wanted.kind, document);
                row.ok_or_else(|| corrupt("a version of a cell"))
            });
            rows.collect()
        });
        rows.collect()
    }
}

/// When a version has ended.
#[derive(Clone, Copy)]
enum Ended {
    Never,
    /// After the revision that is read at.
    Since,
}

impl Wanted {
    fn query(&self, revision: u64, ended: Ended) -> Query {
        let until = match ended {
            // It is gone when it ends.
            _ if !self.kind.has_past() => None,
            Ended::Never => Some(doc! { "$exists": false }),
            Ended::Since => Some(doc! { "$gt": signed(revision) }),
        };
        let alternatives = self.spans.iter().map(|(from, to)| {
            let mut ids = doc! { "$gte": from };
            if let Some(to) = to {
                ids.insert("$lt", to);
            }
            let mut alternative = doc! { "_id": ids };
            if let Some(until) = &until {
                alternative.insert("until", until.clone());
            }
            alternative
        });
        let mut alternatives: Vec<_> = alternatives.collect();
        let mut filter = match alternatives.len() {
            1 => alternatives.remove(0),
            _ => doc! { "$or": alternatives },
        };
        filter.insert("m", doc! { "$lte": signed(revision) });
        filter.insert("pending", doc! { "$exists": false });
        let mut query = Query::new(filter, self.order, self.limit);
        if let (Ended::Never, Some(_)) = (ended, until) {
            query.index = Some(LIVE);
        }
        query.fields = match self.values {
            Values::Read => doc! { "m": 1, "c": 1, "v": 1 },
            Values::Left => doc! { "m": 1, "c": 1 },
        };
        query
    }
}

fn row(kind: Kind, mut document: Document) -> Option<Row> {
    let modified = revision_in(&document, "m")?;
    let created = match document.contains_key("c") {
        true => revision_in(&document, "c")?,
        false => modified,
    };
    let value = match document.remove("v") {
        Some(Bson::Binary(binary)) => binary.bytes,
        Some(_) => return None,
        None => Vec::new(),
    };
    let id = document.get_str("_id").ok()?.to_owned();
    let cell = crate::staged::engine::Cell {
        key: kind.cell(&id)?,
        value,
        created,
        modified,
    };
    Some(Row { id, cell })
}
