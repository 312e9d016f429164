//! Reads: the versions of cells that hold at a revision.

use std::collections::{BTreeMap, BTreeSet};

use espalier_keyspace::{Direction, Error, KeyRange, Result};

use super::engine::{Engine, Kind, Row, State, Values, View, Wanted, order};
use crate::staged::engine::{Cell, Found, Read};

/// Cells that one query names one by one.
const CELLS_MAX: usize = 64;

/// Rows that one query reads between cells that are many.
const ROWS_MAX: usize = 1000;

/// Answers questions at a revision, or at the newest one.
pub(super) fn read(engine: &Engine, reads: &[Read], at: Option<u64>) -> Result<Found> {
    if at.is_none()
        && !reads.iter().all(is_single)
        && let Some(found) = read_presumed(engine, reads)?
    {
        return Ok(found);
    }
    let newest = match at {
        Some(_) if !reads.iter().any(is_single) => None,
        _ => Some(engine.newest()?.0),
    };
    let revision = match (at, &newest) {
        (Some(at), _) => at,
        (None, Some(newest)) => newest.revision,
        (None, None) => 0,
    };
    let mut answers = Answers::new(engine, revision, View::Whole, newest.as_deref());
    // Whoever asks at a revision reads for people; at the newest one, for a commit.
    answers.may_recall = at.is_none();
    let cells = answers.answer(reads)?;
    answers.learn();
    engine.check_kept(revision)?;
    Ok(Found { revision, cells })
}

/// Answers at the newest revision that this process knows; `None` where there is a newer one. That
/// is asked in the end, and so tells that nothing that was to be found had an end by then.
fn read_presumed(engine: &Engine, reads: &[Read]) -> Result<Option<Found>> {
    let (state, known_at) = engine.presumed()?;
    let revision = state.revision;
    let mut answers = Answers::new(engine, revision, View::Live, Some(&state));
    answers.may_recall = true;
    let cells = answers.answer(reads)?;
    if !engine.is_last(&state, known_at)? {
        return Ok(None);
    }
    answers.learn();
    engine.check_kept(revision)?;
    Ok(Some(Found { revision, cells }))
}

/// Whether a cell is asked for that stands in the documents of revisions.
fn is_single(read: &Read) -> bool {
    matches!(read, Read::One(cell) if Kind::of(cell).is_none())
}

/// What is found at a revision.
struct Answers<'a> {
    engine: &'a Engine,
    revision: u64,
    view: View,
    state: Option<&'a State>,
    may_recall: bool,
    /// What to remember: cells that were looked for, and their versions.
    learned: Vec<(Vec<&'a [u8]>, Vec<Row>)>,
}

impl<'a> Answers<'a> {
    fn new(engine: &'a Engine, revision: u64, view: View, state: Option<&'a State>) -> Self {
        Self {
            engine,
            revision,
            view,
            state,
            may_recall: false,
            learned: Vec::new(),
        }
    }

    fn answer(&mut self, reads: &'a [Read]) -> Result<Vec<Vec<Cell>>> {
        let (mut ones, mut pages) = (BTreeMap::<_, BTreeSet<&[u8]>>::new(), Vec::new());
        for (at, read) in reads.iter().enumerate() {
            match read {
                Read::One(cell) => {
                    let cells = Kind::of(cell).map(|kind| ones.entry(kind).or_default());
                    cells.map(|cells| cells.insert(cell));
                }
                Read::Some {
                    range,
                    direction,
                    limit,
                } => pages.extend(page(range, *direction, *limit).map(|page| (at, page))),
            }
        }
        let (places, mut wanted): (Vec<_>, Vec<_>) = pages.into_iter().unzip();
        let (mut rows, mut few) = (Vec::new(), Vec::new());
        for (kind, cells) in ones {
            let (known, unknown) = match self.may_recall {
                true => recall(self.engine, cells, self.revision),
                false => (Vec::new(), cells.into_iter().collect()),
            };
            rows.extend(known);
            if unknown.len() > CELLS_MAX {
                let (engine, values) = (self.engine, Values::Read);
                let found = lookup(engine, kind, &unknown, self.revision, self.view, values)?;
                rows.extend(found.iter().cloned());
                self.learned.push((unknown, found));
            } else if !unknown.is_empty() {
                wanted.push(cells_of(kind, &unknown, Values::Read));
                few.push(unknown);
            }
        }
        let mut found = self.engine.versions(&wanted, self.revision, self.view)?;
        for (cells, found) in few.into_iter().zip(found.drain(places.len()..)) {
            rows.extend(found.iter().cloned());
            self.learned.push((cells, found));
        }
        let mut answers = self.answers_of_ones(reads, rows);
        for (at, page) in places.into_iter().zip(found) {
            answers[at] = page.into_iter().map(|row| row.cell).collect();
        }
        Ok(answers)
    }

    fn answers_of_ones(&self, reads: &[Read], rows: Vec<Row>) -> Vec<Vec<Cell>> {
        let cells = rows.into_iter().map(|row| (row.cell.key.clone(), row.cell));
        let cells: BTreeMap<_, _> = cells.collect();
        let answers = reads.iter().map(|read| match read {
            Read::One(cell) if Kind::of(cell).is_some() => cells.get(cell).cloned(),
            Read::One(cell) => self.state.and_then(|state| state.cell(cell)),
            Read::Some { .. } => None,
        });
        answers.map(|cell| cell.into_iter().collect()).collect()
    }

    /// Remembers what was found, for the commit that follows.
    fn learn(self) {
        let mut recent = self.engine.recent.lock();
        for (cells, rows) in &self.learned {
            recent.learn(self.revision, cells, rows);
        }
    }
}

/// What is remembered of some cells of a revision, and those of which nothing is.
fn recall<'a>(
    engine: &Engine,
    cells: BTreeSet<&'a [u8]>,
    revision: u64,
) -> (Vec<Row>, Vec<&'a [u8]>) {
    let recent = engine.recent.lock();
    let (mut rows, mut unknown) = (Vec::new(), Vec::new());
    for cell in cells {
        match recent.recall(revision, cell) {
            Some(known) => rows.extend(known.clone()),
            None => unknown.push(cell),
        }
    }
    (rows, unknown)
}

/// The versions of some cells that have no end at a revision that is presumed to be the newest.
pub(super) fn lookup_live(
    engine: &Engine,
    kind: Kind,
    cells: &[&[u8]],
    revision: u64,
    values: Values,
) -> Result<Vec<Row>> {
    let cells = cells.iter().copied().collect();
    let (mut rows, unknown) = recall(engine, cells, revision);
    rows.extend(lookup(
        engine,
        kind,
        &unknown,
        revision,
        View::Live,
        values,
    )?);
    Ok(rows)
}

/// Whether no cell of a range has a version without an end at such a revision.
pub(super) fn is_empty(engine: &Engine, range: &KeyRange, revision: u64) -> Result<bool> {
    let mut wanted = Vec::from_iter(page(range, Direction::Forward, 1));
    wanted
        .iter_mut()
        .for_each(|page| page.values = Values::Left);
    let found = engine.versions(&wanted, revision, View::Live)?;
    Ok(found.iter().all(Vec::is_empty))
}

/// The first versions of a range, which is in one collection or none.
fn page(range: &KeyRange, direction: Direction, limit: usize) -> Option<Wanted> {
    let kind = Kind::of(&range.start)?;
    Some(Wanted {
        kind,
        spans: vec![kind.ids_within(range)],
        order: order(direction),
        limit,
        values: Values::Read,
    })
}

/// The versions of a few cells.
fn cells_of(kind: Kind, cells: &[&[u8]], values: Values) -> Wanted {
    let spans = cells.iter().map(|cell| {
        let (from, to) = kind.ids_of(cell);
        (from, Some(to))
    });
    Wanted {
        kind,
        spans: spans.collect(),
        order: 0,
        limit: cells.len(),
        values,
    }
}

/// The versions of cells, which are in order and each there once.
fn lookup(
    engine: &Engine,
    kind: Kind,
    cells: &[&[u8]],
    revision: u64,
    view: View,
    values: Values,
) -> Result<Vec<Row>> {
    let ask = |wanted| {
        let found = engine.versions(&[wanted], revision, view)?;
        Ok::<_, Error>(found.into_iter().flatten())
    };
    let (mut rows, mut rest, mut is_dense) = (Vec::new(), cells, true);
    while let (Some(first), Some(last)) = (rest.first(), rest.last()) {
        if rest.len() <= CELLS_MAX || !is_dense {
            let (some, others) = rest.split_at(rest.len().min(CELLS_MAX));
            rows.extend(ask(cells_of(kind, some, values))?);
            rest = others;
            continue;
        }
        // All that stands between them, where that is not much more.
        let limit = (2 * rest.len()).min(ROWS_MAX);
        let found: Vec<_> = ask(Wanted {
            kind,
            spans: vec![(kind.ids_of(first).0, Some(kind.ids_of(last).1))],
            order: 1,
            limit,
            values,
        })?
        .collect();
        let end = match found.last() {
            Some(row) if found.len() == limit => {
                rest.partition_point(|cell| **cell <= *row.cell.key)
            }
            _ => rest.len(),
        };
        is_dense = 4 * end > found.len();
        let (asked, others) = rest.split_at(end);
        let is_asked = |row: &Row| asked.binary_search(&&*row.cell.key).is_ok();
        rows.extend(found.into_iter().filter(is_asked));
        rest = others;
    }
    Ok(rows)
}
