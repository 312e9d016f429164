//! Reading entries through a connection, in whatever transaction it is.

use espalier_keyspace::{Direction, KeyRange, Version};
use tokio_postgres::Row;

use super::connection::{Connection, Step};
use super::error::Failure;
use super::statements::Query;
use crate::pages::Page;

/// Begins a transaction that sees one state.
const BEGIN_READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// A key and its value.
pub(in crate::postgres) type Entry = (Vec<u8>, Vec<u8>);

impl Connection {
    /// Begins to read; what is read from now on is the state of the returned version.
    pub(super) fn begin_read(&mut self) -> Result<Version, Failure> {
        let steps = [Step::Text(BEGIN_READ), Step::Query(Query::Version, vec![])];
        version_in(&self.run(&steps)?)
    }

    /// The value of a key.
    pub(in crate::postgres) fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let rows = self.query(Query::Get, &[&key])?;
        rows.first().map(|row| bytes(row, 0)).transpose()
    }

    /// The first entry at or after a key.
    pub(in crate::postgres) fn first_from(&mut self, key: &[u8]) -> Result<Option<Entry>, Failure> {
        let rows = self.query(Query::Forward, &[&key, &1i64])?;
        let entry = |row| Ok((bytes(row, 0)?, bytes(row, 1)?));
        rows.first().map(entry).transpose()
    }

    /// Fills a page with the first entries of a range, `wanted` at most.
    pub(in crate::postgres) fn read_page(
        &mut self,
        range: &KeyRange,
        direction: Direction,
        wanted: usize,
        page: &mut Page,
    ) -> Result<(), Failure> {
        let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
        let (to_end, to_key) = match direction {
            Direction::Forward => (Query::Forward, Query::ForwardTo),
            Direction::Backward => (Query::Backward, Query::BackwardFrom),
        };
        let rows = match &range.end {
            None => self.query(to_end, &[&range.start, &wanted])?,
            Some(end) => self.query(to_key, &[&range.start, end, &wanted])?,
        };
        for row in &rows {
            let (key, value) = (column(row, 0)?, column(row, 1)?);
            page.push(key, value);
        }
        Ok(())
    }
}

/// The version that the second step of a pipeline has read.
pub(super) fn version_in(answers: &[Vec<Row>]) -> Result<Version, Failure> {
    match answers.get(1).and_then(|rows| rows.first()) {
        Some(row) => version(row),
        None => Err(Failure::Damaged("the table \"state\" has lost its row")),
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
