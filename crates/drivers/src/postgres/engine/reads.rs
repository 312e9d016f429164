//! Reads entries in the transaction of a connection.

use std::collections::{BTreeSet, HashMap};

use espalier_keyspace::{Direction, KeyRange, PrefetchList, Version, is_key};
use tokio_postgres::Row;

use super::connection::{Connection, Step};
use super::error::Failure;
use super::statements::Query;
use crate::page::Page;
use crate::paged_cursor::More;
use crate::prefetched::Prefetched;

/// Begins a transaction that reads one state.
const BEGIN_READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// A key and its value.
pub(in crate::postgres) type Entry = (Vec<u8>, Vec<u8>);

impl Connection {
    /// Begins a read transaction, and prefetches what is expected to be read in the same round trip. The connection
    /// then reads the state of the returned version.
    pub(super) fn begin_read(
        &mut self,
        expected: &PrefetchList,
    ) -> Result<(Version, Prefetched), Failure> {
        let keys = expected.keys().iter().map(Vec::as_slice);
        let keys: BTreeSet<&[u8]> = keys.filter(|key| is_key(key)).collect();
        let keys: Vec<&[u8]> = keys.into_iter().collect();
        let ranges = expected.ranges().iter().filter(|(_, keys)| *keys > 0);
        let ranges: Vec<_> = ranges.map(|(range, keys)| (range, limit(*keys))).collect();
        let version_and_values = match &keys[..] {
            [] => Step::Query(Query::ReadVersion, vec![]),
            _ => Step::Query(Query::VersionAndMany, vec![&keys]),
        };
        let mut steps = vec![Step::Text(BEGIN_READ), version_and_values];
        let heads = ranges.iter();
        steps.extend(heads.map(|(range, limit)| first_of(range, Direction::Forward, limit)));
        let answers = self.run(&steps)?;
        let (values, heads) = answers.split_at(steps.len() - ranges.len());
        let mut prefetched = Prefetched::default();
        keys.iter()
            .for_each(|key| prefetched.insert_value(key, None));
        for row in values.iter().flatten().filter(|row| row.len() > 1) {
            let key: Option<&[u8]> = row.try_get(1).map_err(Failure::Database)?;
            if let Some(key) = key {
                prefetched.insert_value(key, Some(bytes(row, 2)?));
            }
        }
        for ((range, limit), rows) in ranges.into_iter().zip(heads) {
            let mut head = Page::default();
            let more = show(rows, limit, &mut head)?;
            prefetched.insert_head(range, head, more);
        }
        Ok((version_in(&answers)?, prefetched))
    }

    /// Reads the value of a key.
    pub(in crate::postgres) fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let rows = self.query(Query::Get, &[&key])?;
        rows.first().map(|row| bytes(row, 0)).transpose()
    }

    /// Reads the values of keys, in their order.
    pub(in crate::postgres) fn get_many(
        &mut self,
        keys: &[&[u8]],
    ) -> Result<Vec<Option<Vec<u8>>>, Failure> {
        let rows = self.query(Query::GetMany, &[&keys])?;
        let found = rows
            .iter()
            .map(|row| Ok((column(row, 0)?, column(row, 1)?)));
        let found: HashMap<&[u8], &[u8]> = found.collect::<Result<_, Failure>>()?;
        let value = |key: &&[u8]| found.get(key).map(|value| value.to_vec());
        Ok(keys.iter().map(value).collect())
    }

    /// Reads the first entry at or after a key.
    pub(in crate::postgres) fn first_from(&mut self, key: &[u8]) -> Result<Option<Entry>, Failure> {
        let rows = self.query(Query::Forward, &[&key, &1i64])?;
        let entry = |row| Ok((bytes(row, 0)?, bytes(row, 1)?));
        rows.first().map(entry).transpose()
    }

    /// Fills a page with the first entries of a range, at most `entries_max`.
    pub(in crate::postgres) fn read_page(
        &mut self,
        range: &KeyRange,
        direction: Direction,
        entries_max: usize,
        page: &mut Page,
    ) -> Result<More, Failure> {
        let limit = limit(entries_max);
        let rows = self.run(&[first_of(range, direction, &limit)])?;
        show(rows.first().map_or(&[], Vec::as_slice), limit, page)
    }
}

fn limit(entries: usize) -> i64 {
    i64::try_from(entries).unwrap_or(i64::MAX)
}

/// The query for the first entries of a range.
fn first_of<'a>(range: &'a KeyRange, direction: Direction, limit: &'a i64) -> Step<'a> {
    let (to_end, to_key) = match direction {
        Direction::Forward => (Query::Forward, Query::ForwardTo),
        Direction::Backward => (Query::Backward, Query::BackwardFrom),
    };
    match &range.end {
        None => Step::Query(to_end, vec![&range.start, limit]),
        Some(end) => Step::Query(to_key, vec![&range.start, end, limit]),
    }
}

/// Fills a page with the rows of a query with `limit`.
fn show(rows: &[Row], limit: i64, page: &mut Page) -> Result<More, Failure> {
    for row in rows {
        let (key, value) = (column(row, 0)?, column(row, 1)?);
        page.push(key, value);
    }
    Ok(match limit > self::limit(rows.len()) {
        true => More::Nothing,
        false => More::Perhaps,
    })
}

/// The version in the response to the second step of a pipeline.
pub(super) fn version_in(answers: &[Vec<Row>]) -> Result<Version, Failure> {
    match answers.get(1).and_then(|rows| rows.first()) {
        Some(row) => version(row),
        None => Err(Failure::Corrupt("the table \"state\" has lost its row")),
    }
}

/// The version in the first column of a row.
pub(super) fn version(row: &Row) -> Result<Version, Failure> {
    let version: i64 = row.try_get(0).map_err(Failure::Database)?;
    Ok(Version(version.cast_unsigned()))
}

/// The bytes in a column of a row.
pub(super) fn column(row: &Row, at: usize) -> Result<&[u8], Failure> {
    row.try_get(at).map_err(Failure::Database)
}

/// The bytes in a column of a row, owned.
pub(super) fn bytes(row: &Row, at: usize) -> Result<Vec<u8>, Failure> {
    column(row, at).map(<[u8]>::to_vec)
}
