//! Reads the values of a range.

use espalier_keyspace::{Cursor, Direction, KeyRange, PrefetchList, Snapshot};

use crate::layout::{self, BucketKind};
use crate::limits::{BUCKETS_MAX, ROWS_AT_ONCE};
use crate::row::{Row, entries, row};
use crate::stats::Stats;
use crate::{Bucket, Error, Granularity, Metric, Number, Path, PathValues, Result, Timestamp};

/// The maximum number of buckets for which memory is reserved in advance.
const BUCKETS_RESERVED: usize = 1 << 16;

/// Whether buckets without values are part of the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmptyBuckets {
    /// They are, with no values.
    #[default]
    Kept,
    /// They are not.
    Skipped,
}

/// A range of time and its granularity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// A time in the first bucket.
    pub from: Timestamp,
    /// A time in the last bucket.
    pub to: Timestamp,
    /// The length of the buckets.
    pub granularity: Granularity,
    /// Whether buckets without values are part of the result.
    pub blanks: EmptyBuckets,
}

impl Range {
    /// All buckets from that of `from` to that of `to`, inclusive.
    pub fn new(granularity: Granularity, from: Timestamp, to: Timestamp) -> Self {
        Self {
            from,
            to,
            granularity,
            blanks: EmptyBuckets::Kept,
        }
    }

    /// Leaves out buckets without values.
    #[must_use]
    pub fn skip_blanks(mut self) -> Self {
        self.blanks = EmptyBuckets::Skipped;
        self
    }
}

/// The values of one bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The start of the bucket.
    pub at: Timestamp,
    /// The values.
    pub values: PathValues,
}

impl Stats {
    /// The values of a metric over a range: one scan, independently of the number of buckets.
    pub fn values(&self, metric: impl Into<Metric>, range: Range) -> Result<Vec<Point>> {
        let metric = metric.into();
        metric.check()?;
        let snapshot = self
            .driver
            .snapshot_with_prefetch(&|expected| self.prefetch_buckets(&metric, range, expected))?;
        let found = self.read_buckets(&*snapshot, &metric, range)?;
        self.fill_blanks(found, range)
    }

    /// The buckets of a range that have values, in one scan.
    pub(crate) fn read_buckets(
        &self,
        snapshot: &dyn Snapshot,
        metric: &Metric,
        range: Range,
    ) -> Result<Vec<(i64, PathValues)>> {
        let Some((buckets, span)) = self.key_prefix_and_span(BucketKind::Numbers, metric, range)?
        else {
            return Ok(Vec::new());
        };
        let keys = bucket_keys(&buckets, span);
        let cursor = snapshot.scan(&keys, Direction::Forward)?;
        Reader::new(cursor, buckets.len(), span.end).read()
    }

    /// Prefetches what [`Self::read_buckets`] reads first.
    pub(crate) fn prefetch_buckets(
        &self,
        metric: &Metric,
        range: Range,
        expected: &mut PrefetchList,
    ) {
        // Errors in the range are reported when it is read.
        if let Ok(Some((buckets, span))) =
            self.key_prefix_and_span(BucketKind::Numbers, metric, range)
        {
            expected.range(bucket_keys(&buckets, span), ROWS_AT_ONCE);
        }
    }

    /// The key prefix of a range's buckets, and the span of those that have not expired.
    pub(crate) fn key_prefix_and_span(
        &self,
        kind: BucketKind,
        metric: &Metric,
        range: Range,
    ) -> Result<Option<(Vec<u8>, Bucket)>> {
        let span = self.span(range)?;
        Ok(span.map(|span| (self.layout.buckets(kind, metric, range.granularity), span)))
    }

    /// The start of a range's first bucket that has not expired, and the end of its last one.
    pub(crate) fn span(&self, range: Range) -> Result<Option<Bucket>> {
        let active = self.active();
        let line = active
            .calendar
            .timeline(range.granularity, range.from, range.to)?;
        let kept_from = active.kept_from(range.granularity, self.retention_now())?;
        let start = line.first_bucket().start.max(kept_from.unwrap_or(i64::MIN));
        let end = line.last_bucket().end;
        Ok((start < end).then_some(Bucket { start, end }))
    }

    /// Converts buckets to points, and adds empty ones if they are requested.
    pub(crate) fn fill_blanks(
        &self,
        found: Vec<(i64, PathValues)>,
        range: Range,
    ) -> Result<Vec<Point>> {
        let mut found = found.into_iter().peekable();
        if range.blanks == EmptyBuckets::Skipped {
            return Ok(found.map(|(start, values)| point(start, values)).collect());
        }
        let active = self.active();
        let mut points = Vec::with_capacity(found.len());
        for bucket in active
            .calendar
            .timeline(range.granularity, range.from, range.to)?
        {
            let bucket = bucket?;
            // A stored bucket between two expected ones is of an older calendar; it is returned as well.
            while let Some((start, values)) = found.next_if(|(start, _)| *start < bucket.start) {
                points.push(point(start, values));
            }
            let values = found.next_if(|(start, _)| *start == bucket.start);
            points.push(point(
                bucket.start,
                values.map_or_else(PathValues::new, |(_, values)| values),
            ));
            if points.len() > BUCKETS_MAX {
                return Err(too_many());
            }
        }
        points.extend(found.map(|(start, values)| point(start, values)));
        Ok(points)
    }
}

/// The keys of the buckets of a span.
pub(crate) fn bucket_keys(buckets: &[u8], span: Bucket) -> KeyRange {
    KeyRange::new(
        layout::bucket(buckets, span.start),
        layout::bucket(buckets, span.end),
    )
}

fn point(start: i64, values: PathValues) -> Point {
    Point {
        at: Timestamp::from_second(start).unwrap_or(Timestamp::MIN),
        values,
    }
}

fn too_many() -> Error {
    Error::limit(format!(
        "the range has more than {BUCKETS_MAX} buckets; choose a shorter range or longer buckets"
    ))
}

/// Reads rows in order. Paths that the previous bucket had at the same index are shared.
struct Reader<'a> {
    cursor: Box<dyn Cursor + 'a>,
    prefix: usize,
    found: Vec<(i64, PathValues)>,
    /// The first second after the range.
    end: i64,
    start: Option<i64>,
    values: Vec<(Path, Number)>,
    /// The values were not sorted, because they were in several rows.
    is_spread: bool,
}

impl<'a> Reader<'a> {
    fn new(cursor: Box<dyn Cursor + 'a>, prefix: usize, end: i64) -> Self {
        Self {
            cursor,
            prefix,
            found: Vec::new(),
            end,
            start: None,
            values: Vec::new(),
            is_spread: false,
        }
    }

    fn read(mut self) -> Result<Vec<(i64, PathValues)>> {
        while let Some((key, stored)) = self.cursor.next()? {
            let start = layout::bucket_start(key.get(self.prefix..).unwrap_or_default())?;
            if self.start.is_some_and(|previous| previous != start) {
                let values = std::mem::take(&mut self.values);
                push_bucket(&mut self.found, self.start, values, self.is_spread);
                self.is_spread = false;
                reserve(&mut self.found, start, self.end);
                if self.found.len() > BUCKETS_MAX {
                    return Err(too_many());
                }
            }
            self.start = Some(start);
            match row(stored)? {
                Row::Leaf(leaf) => {
                    let previous = self
                        .found
                        .last()
                        .map_or(&[][..], |(_, values)| values.as_slice());
                    put_entries(leaf, previous, &mut self.values)?;
                }
                Row::Spread => self.is_spread = true,
            }
        }
        push_bucket(&mut self.found, self.start, self.values, self.is_spread);
        Ok(self.found)
    }
}

/// Reserves memory for all buckets up to the end, assuming the distance of the first two. Growing step by
/// step would make the system clear far more memory than needed, which takes longer than everything else.
fn reserve(found: &mut Vec<(i64, PathValues)>, second: i64, end: i64) {
    if let [(first, _)] = found.as_slice() {
        let more = (end - second) / (second - first).max(1) + 1;
        let more = usize::try_from(more).unwrap_or(0);
        found.reserve(more.min(BUCKETS_RESERVED));
    }
}

fn put_entries(
    leaf: &[u8],
    previous: &[(Path, Number)],
    values: &mut Vec<(Path, Number)>,
) -> Result<()> {
    if values.is_empty() {
        values.reserve(previous.len());
    }
    for entry in entries(leaf) {
        let entry = entry?;
        let shared = previous
            .get(values.len())
            .filter(|(path, _)| path.as_str().as_bytes() == entry.path);
        let path = match shared {
            Some((path, _)) => path.clone(),
            None => Path::stored(entry.path)?,
        };
        values.push((path, entry.number));
    }
    Ok(())
}

fn push_bucket(
    found: &mut Vec<(i64, PathValues)>,
    start: Option<i64>,
    values: Vec<(Path, Number)>,
    is_spread: bool,
) {
    let Some(start) = start else { return };
    let values = if is_spread {
        values.into_iter().collect()
    } else {
        PathValues::from_sorted(values)
    };
    if !values.is_empty() {
        found.push((start, values));
    }
}
