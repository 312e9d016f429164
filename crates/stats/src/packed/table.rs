//! Buckets of one granularity with their values: a table of starts and paths.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::codec::Codec;
use super::column::{ColumnWriter, take_column};
use super::integers::{put_integers, put_signed, take_integers, take_signed};
use super::paths::{put_paths, union};
use crate::limits::{PACKED_VALUES_MAX, ROW_BYTES};
use crate::number::{put_number, put_varint, take_number, take_varint};
use crate::row::{MergeMode, combine};
use crate::{Error, Number, Path, PathValues, Result};

/// The first byte of a packed row.
pub(super) const FORMAT: u8 = 1;

/// Cells of the largest table that is decoded. No table that was written has as many.
const CELLS_MAX: usize = 1 << 22;

/// Bytes that a path counts for the limit of the paths of a table, in addition to its text.
const PATH_OVERHEAD_BYTES: usize = 8;

/// Takes the place of a number, whose first byte is a scale or `ff`.
const NO_NUMBER: u8 = 0xfe;

/// Whether values fit into a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// They do, and the table has them now.
    Stored,
    /// The bucket would have more than [`PACKED_VALUES_MAX`] values, or the paths of the table more than [`ROW_BYTES`]
    /// bytes; nothing was changed.
    TooLarge,
}

/// Buckets in the order of their starts, with one column for each path.
#[derive(Clone, Default)]
pub(crate) struct Table {
    starts: Vec<i64>,
    pub(super) paths: Arc<[Path]>,
    /// The values of the first bucket by path, then those of the second, and so on.
    cells: Vec<Option<Number>>,
    /// Buckets were removed, so a column may have no values.
    may_have_empty_columns: bool,
}

impl Table {
    /// The starts of the buckets, in order.
    pub(crate) fn starts(&self) -> &[i64] {
        &self.starts
    }

    /// The number of buckets.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// The index of a bucket.
    pub(crate) fn find(&self, start: i64) -> Option<usize> {
        match self.starts.last() {
            Some(last) if *last == start => Some(self.len() - 1),
            Some(last) if *last < start => None,
            _ => self.starts.binary_search(&start).ok(),
        }
    }

    fn row(&self, index: usize) -> &[Option<Number>] {
        let width = self.paths.len();
        &self.cells[index * width..(index + 1) * width]
    }

    /// The values of a bucket, sorted by path.
    pub(crate) fn values(&self, index: usize) -> impl Iterator<Item = (&Path, Number)> {
        let cells = self.paths.iter().zip(self.row(index));
        cells.filter_map(|(path, cell)| cell.map(|number| (path, number)))
    }

    /// The value of a path in a bucket.
    pub(crate) fn number(&self, index: usize, path: &Path) -> Option<Number> {
        let column = self.paths.binary_search(path).ok()?;
        self.row(index)[column]
    }

    /// The last bucket before `end` with a value of a path: its start and that value.
    pub(crate) fn latest(&self, path: &Path, end: i64) -> Option<(i64, Number)> {
        let column = self.paths.binary_search(path).ok()?;
        let before = self.starts.partition_point(|start| *start < end);
        let mut indexes = (0..before).rev();
        indexes.find_map(|index| self.row(index)[column].map(|number| (self.starts[index], number)))
    }

    /// Appends the buckets that start in a range, if they have values.
    pub(crate) fn read(&self, range: &Range<i64>, found: &mut Vec<(i64, PathValues)>) {
        let first = self.starts.partition_point(|start| *start < range.start);
        let last = self.starts.partition_point(|start| *start < range.end);
        for index in first..last {
            let mut values = Vec::with_capacity(self.paths.len());
            values.extend(
                self.values(index)
                    .map(|(path, number)| (path.clone(), number)),
            );
            if !values.is_empty() {
                found.push((self.starts[index], PathValues::from_sorted(values)));
            }
        }
    }

    /// Changes values of a bucket, which begins if it does not exist. They are sorted by path.
    pub(crate) fn change(
        &mut self,
        start: i64,
        values: &[(Path, Number)],
        mode: MergeMode,
    ) -> Result<Fit> {
        let found = self.find(start);
        if !self.has_room(found, values) {
            return Ok(Fit::TooLarge);
        }
        if !self.has_columns(values) && !self.add_columns(values) {
            return Ok(Fit::TooLarge);
        }
        let index = found.unwrap_or_else(|| self.insert(start));
        let width = self.paths.len();
        let row = &mut self.cells[index * width..(index + 1) * width];
        let mut columns = self.paths.iter().zip(row);
        for (path, number) in values {
            let (_, cell) = columns
                .find(|(column, _)| *column == path)
                .ok_or_else(|| Error::corrupt("the values of a write are not sorted"))?;
            *cell = Some(match *cell {
                Some(old) => combine(old, *number, mode).map_err(|error| error.at(path))?,
                None => *number,
            });
        }
        Ok(Fit::Stored)
    }

    /// Whether a bucket has at most [`PACKED_VALUES_MAX`] values with these.
    fn has_room(&self, index: Option<usize>, values: &[(Path, Number)]) -> bool {
        if values.len() > PACKED_VALUES_MAX {
            return false;
        }
        let Some(index) = index else { return true };
        if self.paths.len() + values.len() <= PACKED_VALUES_MAX {
            return true;
        }
        let stored = self.values(index).map(|(path, _)| path.clone());
        let stored: Vec<_> = stored.collect();
        let all = union(&stored, values.iter().map(|(path, _)| path.clone()));
        all.is_none_or(|all| all.len() <= PACKED_VALUES_MAX)
    }

    /// Whether each value has a column.
    pub(super) fn has_columns(&self, values: &[(Path, Number)]) -> bool {
        let mut columns = self.paths.iter();
        values
            .iter()
            .all(|(path, _)| columns.any(|column| column == path))
    }

    /// Adds columns for paths that have none; returns `false`, and adds nothing, if there are too many.
    fn add_columns(&mut self, values: &[(Path, Number)]) -> bool {
        let Some(paths) = union(&self.paths, values.iter().map(|(path, _)| path.clone())) else {
            return true;
        };
        let bytes = paths
            .iter()
            .map(|path| path.as_str().len() + PATH_OVERHEAD_BYTES);
        if bytes.sum::<usize>() > ROW_BYTES {
            return false;
        }
        self.set_columns(paths.into());
        true
    }

    /// Replaces the columns by others, which include all columns with values.
    pub(super) fn set_columns(&mut self, paths: Arc<[Path]>) {
        let mut cells = Vec::with_capacity(paths.len() * self.len());
        for index in 0..self.len() {
            let mut values = self.values(index).peekable();
            let row = paths.iter();
            cells.extend(row.map(|path| {
                let value = values.next_if(|(other, _)| *other == path);
                value.map(|(_, number)| number)
            }));
        }
        self.cells = cells;
        self.paths = paths;
    }

    /// Inserts an empty bucket; returns its index.
    fn insert(&mut self, start: i64) -> usize {
        let index = self.starts.partition_point(|other| *other < start);
        self.starts.insert(index, start);
        let (width, place) = (self.paths.len(), index * self.paths.len());
        if place == self.cells.len() {
            self.cells.resize(place + width, None);
        } else {
            let empty = std::iter::repeat_n(None, width);
            self.cells.splice(place..place, empty);
        }
        index
    }

    /// Removes a range of buckets; returns them as a table.
    pub(crate) fn split_off(&mut self, indexes: Range<usize>) -> Self {
        let width = self.paths.len();
        let cells = indexes.start * width..indexes.end * width;
        self.may_have_empty_columns = true;
        Self {
            starts: self.starts.drain(indexes).collect(),
            paths: Arc::clone(&self.paths),
            cells: self.cells.drain(cells).collect(),
            may_have_empty_columns: true,
        }
    }

    /// A table with the columns of another one, and no buckets.
    pub(super) fn with_columns(other: &Self) -> Self {
        Self {
            paths: Arc::clone(&other.paths),
            ..Self::default()
        }
    }

    /// Removes all buckets.
    pub(super) fn clear(&mut self) {
        self.starts.clear();
        self.cells.clear();
        self.may_have_empty_columns = false;
    }

    /// Appends the buckets of a table with the same columns, which start later.
    pub(super) fn append(&mut self, other: Self) -> Result<()> {
        if self.starts.last() >= other.starts.first() && other.len() > 0 {
            return Err(unsorted());
        }
        self.starts.extend(other.starts);
        self.cells.extend(other.cells);
        Ok(())
    }

    /// Appends one bucket: its distance from the start of the one before, then a number, or [`NO_NUMBER`], for each
    /// path.
    pub(super) fn put_row(&self, out: &mut Vec<u8>, index: usize, before: i64) {
        put_signed(out, self.starts[index].wrapping_sub(before));
        for cell in self.row(index) {
            match cell {
                Some(number) => put_number(out, *number),
                None => out.push(NO_NUMBER),
            }
        }
    }

    /// Removes a bucket from the front of `bytes` and appends it to the table; returns its start.
    pub(super) fn take_row(&mut self, bytes: &mut &[u8], before: i64) -> Result<i64> {
        let start = before.wrapping_add(take_signed(bytes)?);
        if self.starts.last().is_some_and(|last| *last >= start) {
            return Err(unsorted());
        }
        self.starts.push(start);
        for _ in 0..self.paths.len() {
            self.cells.push(match bytes.first() {
                Some(&NO_NUMBER) => {
                    *bytes = &bytes[1..];
                    None
                }
                _ => Some(take_number(bytes)?),
            });
        }
        Ok(start)
    }

    /// The paths that have a value.
    pub(super) fn used_paths(&self) -> Cow<'_, [Path]> {
        if !self.may_have_empty_columns {
            return Cow::Borrowed(&self.paths);
        }
        let columns = self.paths.iter().enumerate();
        let used = columns.filter(|(column, _)| self.column(*column).any(|cell| cell.is_some()));
        used.map(|(_, path)| path.clone()).collect()
    }

    fn column(&self, column: usize) -> impl Iterator<Item = Option<Number>> + Clone {
        let width = self.paths.len().max(1);
        self.cells.iter().skip(column).step_by(width).copied()
    }

    /// Encodes the table as a row, without columns that have no values.
    pub(crate) fn encode(&mut self, codec: &mut Codec) -> Vec<u8> {
        let used = self.used_paths();
        if used.len() < self.paths.len() {
            let used = used.into();
            self.set_columns(used);
        }
        let mut row = vec![FORMAT];
        put_paths(&mut row, &self.paths, &mut codec.part);
        self.put_body(&mut row, &mut codec.columns);
        row
    }

    /// Decodes a row.
    pub(crate) fn decode(row: &[u8], codec: &mut Codec) -> Result<Self> {
        let mut table = Self::default();
        table.decode_again(row, codec)?;
        Ok(table)
    }

    /// Replaces the table by a decoded row.
    pub(crate) fn decode_again(&mut self, mut row: &[u8], codec: &mut Codec) -> Result<()> {
        if row.split_off_first() != Some(&FORMAT) {
            return Err(Error::corrupt("a stored block is of an unknown kind"));
        }
        let paths = codec.paths.take(&mut row)?;
        self.take_body(&mut row, paths, &mut codec.integers)
    }

    /// Appends everything except the paths.
    pub(super) fn put_body(&self, out: &mut Vec<u8>, writer: &mut ColumnWriter) {
        put_varint(out, self.len() as u128);
        put_integers(out, &self.starts, &mut writer.deltas);
        for column in 0..self.paths.len() {
            writer.put(out, self.column(column));
        }
    }

    /// Replaces the table by one from the front of `bytes`. `integers` is scratch memory.
    pub(super) fn take_body(
        &mut self,
        bytes: &mut &[u8],
        paths: Arc<[Path]>,
        integers: &mut Vec<i64>,
    ) -> Result<()> {
        let count = take_varint(bytes)?;
        let cells = usize::try_from(count).ok().and_then(|count| {
            let cells = count.checked_mul(paths.len().max(1))?;
            (cells <= CELLS_MAX).then_some(count)
        });
        let count = cells.ok_or_else(|| Error::corrupt("a stored table is too large"))?;
        take_integers(bytes, count, &mut self.starts)?;
        if !self.starts.is_sorted_by(|left, right| left < right) {
            return Err(unsorted());
        }
        let width = paths.len();
        self.paths = paths;
        self.may_have_empty_columns = false;
        self.cells.clear();
        self.cells.resize(count * width, None);
        for column in 0..width {
            let cells = &mut self.cells;
            let mut put = |index: usize, number| cells[index * width + column] = Some(number);
            take_column(bytes, count, integers, &mut put)?;
        }
        Ok(())
    }
}

fn unsorted() -> Error {
    Error::corrupt("the buckets of a row are not sorted")
}
