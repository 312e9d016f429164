//! Reads the values of a range.

use espalier_keyspace::{KeyRange, PrefetchList};

use crate::bucket_reader::BucketReader;
use crate::layout::{self, BucketKind};
use crate::limits::{BLOCKS_AT_ONCE, BUCKETS_MAX, ROWS_AT_ONCE};
use crate::stats::Stats;
use crate::{Bucket, Error, Granularity, Metric, PathValues, Result, Timestamp};

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
    /// The values of a metric over a range: the row of its recent buckets and one scan.
    pub fn values(&self, metric: impl Into<Metric>, range: Range) -> Result<Vec<Point>> {
        let metric = metric.into();
        metric.check()?;
        let snapshot = self
            .driver
            .snapshot_with_prefetch(&|expected| self.prefetch_buckets(&metric, range, expected))?;
        let found = BucketReader::new(self, &*snapshot).read(&metric, range)?;
        self.fill_blanks(found, range)
    }

    /// Prefetches what [`BucketReader::read`] reads first.
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
            let blocks = self.layout.blocks(metric, range.granularity);
            expected.key(self.layout.recent(metric));
            expected.range(block_keys(&blocks, range.granularity, span), BLOCKS_AT_ONCE);
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

/// The keys of the block rows of a span.
pub(crate) fn block_keys(blocks: &[u8], granularity: Granularity, span: Bucket) -> KeyRange {
    let first = layout::block_number(granularity, span.start);
    let last = layout::block_number(granularity, span.end - 1);
    KeyRange::new(
        layout::block(blocks, first),
        layout::block(blocks, last + 1),
    )
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

pub(crate) fn too_many() -> Error {
    Error::limit(format!(
        "the range has more than {BUCKETS_MAX} buckets; choose a shorter range or longer buckets"
    ))
}
