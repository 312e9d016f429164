//! Reads: the versions of cells that hold at a revision.

use std::collections::BTreeMap;

use espalier_keyspace::{Direction, KeyRange, Result};
use mongodb::bson::{Document, doc};

use super::engine::{Engine, Kind, Query, Row, State, corrupt, order, revision_in, signed};
use crate::staged::engine::{Cell, Found, Read};

/// Cells that one query asks for.
const CELLS_MAX: usize = 64;

/// Whether values are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    Read,
    Left,
}

/// Answers questions at a revision, or at the newest one.
pub(super) fn read(engine: &Engine, reads: &[Read], at: Option<u64>) -> Result<Found> {
    let is_single = |read: &Read| matches!(read, Read::One(cell) if Kind::of(cell).is_none());
    let newest = match at {
        Some(_) if !reads.iter().any(is_single) => None,
        _ => Some(engine.newest()?.0),
    };
    let revision = match (at, &newest) {
        (Some(at), _) => at,
        (None, Some(newest)) => newest.revision,
        (None, None) => 0,
    };
    let mut answers = Answers {
        engine,
        revision,
        ones: ones(engine, reads, revision, at)?,
        state: newest.as_deref(),
    };
    let cells = reads.iter().map(|read| answers.answer(read));
    let cells = cells.collect::<Result<_>>()?;
    engine.check_kept(revision)?;
    Ok(Found { revision, cells })
}

/// The single cells that are asked for, of each collection in as few queries as may be. Whoever asks
/// `at` a revision reads for people; at the newest one, for a commit, which may know them already.
fn ones(
    engine: &Engine,
    reads: &[Read],
    revision: u64,
    at: Option<u64>,
) -> Result<BTreeMap<Vec<u8>, Cell>> {
    let mut asked: BTreeMap<Kind, Vec<&[u8]>> = BTreeMap::new();
    for read in reads {
        if let Read::One(cell) = read
            && let Some(kind) = Kind::of(cell)
        {
            asked.entry(kind).or_default().push(cell);
        }
    }
    let mut found = BTreeMap::new();
    for (kind, cells) in asked {
        let rows = match at {
            Some(_) => lookup(engine, kind, cells, revision, Values::Read)?,
            None => lookup_unknown(engine, kind, cells, revision, Values::Read)?,
        };
        found.extend(rows.into_iter().map(|row| (row.cell.key.clone(), row.cell)));
    }
    Ok(found)
}

struct Answers<'a> {
    engine: &'a Engine,
    revision: u64,
    ones: BTreeMap<Vec<u8>, Cell>,
    state: Option<&'a State>,
}

impl Answers<'_> {
    fn answer(&mut self, read: &Read) -> Result<Vec<Cell>> {
        match read {
            Read::One(cell) if Kind::of(cell).is_some() => {
                Ok(self.ones.get(cell).cloned().into_iter().collect())
            }
            Read::One(cell) => {
                let found = self.state.and_then(|state| state.cell(cell));
                Ok(found.into_iter().collect())
            }
            Read::Some {
                range,
                direction,
                limit,
            } => {
                let rows = page(self.engine, range, *direction, *limit, self.revision)?;
                Ok(rows.into_iter().map(|row| row.cell).collect())
            }
        }
    }
}

/// The versions of some cells that hold at a revision, where they are not among what was read last.
pub(super) fn lookup_unknown(
    engine: &Engine,
    kind: Kind,
    mut cells: Vec<&[u8]>,
    revision: u64,
    values: Values,
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    {
        let recent = engine.recent.lock();
        cells.retain(|cell| {
            let known = recent.recall(revision, cell);
            rows.extend(known.cloned().flatten());
            known.is_none()
        });
    }
    rows.extend(lookup(engine, kind, cells, revision, values)?);
    Ok(rows)
}

/// The versions of some cells that hold at a revision.
fn lookup(
    engine: &Engine,
    kind: Kind,
    mut cells: Vec<&[u8]>,
    revision: u64,
    values: Values,
) -> Result<Vec<Row>> {
    cells.sort_unstable();
    cells.dedup();
    let rows = ask(engine, kind, &cells, revision, values)?;
    if values == Values::Read {
        engine.recent.lock().learn(revision, &cells, &rows);
    }
    Ok(rows)
}

/// The same of cells in order, each once.
fn ask(
    engine: &Engine,
    kind: Kind,
    cells: &[&[u8]],
    revision: u64,
    values: Values,
) -> Result<Vec<Row>> {
    let (Some(first), Some(last)) = (cells.first(), cells.last()) else {
        return Ok(Vec::new());
    };
    // All that stands between them, where that is not much more.
    let limit = match cells.len() {
        1 => 1,
        count => 2 * count + CELLS_MAX,
    };
    let ids = doc! { "$gte": kind.ids_of(first).0, "$lt": kind.ids_of(last).1 };
    let mut query = Query::new(holding(doc! { "_id": ids }, revision), 1, limit);
    query.fields = fields(values);
    let mut rows = rows(engine, kind, query)?;
    if cells.len() == 1 || rows.len() < limit {
        rows.retain(|row| cells.binary_search(&row.cell.key.as_slice()).is_ok());
        return Ok(rows);
    }
    rows.clear();
    for cells in cells.chunks(CELLS_MAX) {
        let ranges = cells.iter().map(|cell| {
            let (from, to) = kind.ids_of(cell);
            doc! { "_id": { "$gte": from, "$lt": to } }
        });
        let any = doc! { "$or": ranges.collect::<Vec<_>>() };
        let mut query = Query::new(holding(any, revision), 1, cells.len());
        query.fields = fields(values);
        rows.extend(self::rows(engine, kind, query)?);
    }
    Ok(rows)
}

/// The first versions of a range that hold at a revision.
pub(super) fn page(
    engine: &Engine,
    range: &KeyRange,
    direction: Direction,
    limit: usize,
    revision: u64,
) -> Result<Vec<Row>> {
    let Some(kind) = Kind::of(&range.start) else {
        return Ok(Vec::new());
    };
    let (from, to) = kind.ids_within(range);
    let mut ids = doc! { "$gte": from };
    if let Some(to) = to {
        ids.insert("$lt", to);
    }
    let filter = holding(doc! { "_id": ids }, revision);
    rows(engine, kind, Query::new(filter, order(direction), limit))
}

/// A filter of `_id`s, and that the version holds at a revision.
fn holding(mut filter: Document, revision: u64) -> Document {
    let revision = signed(revision);
    filter.extend(doc! {
        "pending": null,
        "m": { "$lte": revision },
        "$and": [{ "$or": [{ "until": null }, { "until": { "$gt": revision } }] }],
    });
    filter
}

fn fields(values: Values) -> Document {
    match values {
        Values::Read => doc! { "m": 1, "c": 1, "v": 1 },
        Values::Left => doc! { "m": 1, "c": 1 },
    }
}

fn rows(engine: &Engine, kind: Kind, mut query: Query) -> Result<Vec<Row>> {
    if query.fields.is_empty() {
        query.fields = fields(Values::Read);
    }
    let found = engine.server.find(kind.name(), query)?;
    let rows = found.into_iter().map(|document| {
        let row = row(kind, document);
        row.ok_or_else(|| corrupt("a version of a cell"))
    });
    rows.collect()
}

fn row(kind: Kind, mut document: Document) -> Option<Row> {
    let modified = revision_in(&document, "m")?;
    let created = match document.contains_key("c") {
        true => revision_in(&document, "c")?,
        false => modified,
    };
    let value = match document.remove("v") {
        Some(mongodb::bson::Bson::Binary(binary)) => binary.bytes,
        Some(_) => return None,
        None => Vec::new(),
    };
    let id = document.get_str("_id").ok()?.to_owned();
    let cell = Cell {
        key: kind.cell(&id)?,
        value,
        created,
        modified,
    };
    Some(Row { id, cell })
}
