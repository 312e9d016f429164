//! Reads buckets from the three kinds of rows that have them.

use espalier_keyspace::{Cursor, Direction, Snapshot};

use crate::layout::{self, BucketKind};
use crate::limits::{BUCKETS_MAX, METRICS_AT_ONCE};
use crate::packed::{Codec, Recent, Table, Tier};
use crate::read_values::{block_keys, bucket_keys, too_many};
use crate::row::{Row, entries, row};
use crate::stats::Stats;
use crate::{Bucket, Granularity, Metric, Number, Path, PathValues, Range, Result};

/// The maximum number of buckets for which memory is reserved in advance.
const BUCKETS_RESERVED: usize = 1 << 16;

/// Reads the buckets of metrics from one snapshot.
pub(crate) struct BucketReader<'a> {
    stats: &'a Stats,
    snapshot: &'a dyn Snapshot,
    codec: Codec,
}

impl<'a> BucketReader<'a> {
    pub(crate) fn new(stats: &'a Stats, snapshot: &'a dyn Snapshot) -> Self {
        let codec = Codec::default();
        Self {
            stats,
            snapshot,
            codec,
        }
    }

    /// The buckets of a range that have values.
    pub(crate) fn read(&mut self, metric: &Metric, range: Range) -> Result<Vec<(i64, PathValues)>> {
        let Some(span) = self.stats.span(range)? else {
            return Ok(Vec::new());
        };
        let recent = self.snapshot.get(&self.stats.layout.recent(metric))?;
        self.read_span(metric, range.granularity, span, recent.as_deref())
    }

    /// Reads several metrics; calls `found` with the buckets of each. Their recent rows are read together.
    pub(crate) fn read_many<'m>(
        &mut self,
        metrics: &[&'m Metric],
        range: Range,
        found: &mut dyn FnMut(&'m Metric, Vec<(i64, PathValues)>) -> Result<()>,
    ) -> Result<()> {
        let span = self.stats.span(range)?;
        for metrics in metrics.chunks(METRICS_AT_ONCE) {
            let keys = metrics
                .iter()
                .map(|metric| self.stats.layout.recent(metric));
            let keys: Vec<_> = keys.collect();
            let snapshot = self.snapshot;
            let recent = snapshot.get_many(&keys.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
            for (metric, recent) in metrics.iter().zip(recent) {
                let buckets = match span {
                    Some(span) => {
                        self.read_span(metric, range.granularity, span, recent.as_deref())?
                    }
                    None => Vec::new(),
                };
                found(metric, buckets)?;
            }
        }
        Ok(())
    }

    /// The buckets of a span of a metric with this recent row.
    fn read_span(
        &mut self,
        metric: &Metric,
        granularity: Granularity,
        span: Bucket,
        recent: Option<&[u8]>,
    ) -> Result<Vec<(i64, PathValues)>> {
        let tier = match recent {
            Some(row) => Recent::decode_tier(row, granularity, &mut self.codec)?,
            None => None,
        };
        // All buckets of earlier versions have rows of their own.
        let own_to = tier.as_ref().map_or(Some(i64::MAX), |tier| tier.own_to);
        let mut found = match tier {
            Some(mut tier) => self.packed(metric, &mut tier, span)?,
            None => Vec::new(),
        };
        if own_to.is_some_and(|last| last >= span.start) {
            found.extend(self.own(metric, granularity, span)?);
            found.sort_by_key(|(start, _)| *start);
        }
        match found.len() {
            0..=BUCKETS_MAX => Ok(found),
            _ => Err(too_many()),
        }
    }

    /// The buckets of block rows and of the recent row.
    fn packed(
        &mut self,
        metric: &Metric,
        tier: &mut Tier,
        span: Bucket,
    ) -> Result<Vec<(i64, PathValues)>> {
        let mut found = Vec::new();
        let starts = span.start..span.end;
        if let Some(end) = tier.blocks_to
            && end > span.start
        {
            let blocks = self.stats.layout.blocks(metric, tier.granularity);
            let end = end.min(span.end);
            let keys = block_keys(&blocks, tier.granularity, Bucket { end, ..span });
            let mut cursor = self.snapshot.scan(&keys, Direction::Forward)?;
            while let Some((_, row)) = cursor.next()? {
                let table = Table::decode(row, &mut self.codec)?;
                table.read(&starts, &mut found);
                reserve_packed(&mut found, &table, end);
                if found.len() > BUCKETS_MAX {
                    return Err(too_many());
                }
            }
        }
        tier.table()?.read(&starts, &mut found);
        Ok(found)
    }

    fn own(
        &self,
        metric: &Metric,
        granularity: Granularity,
        span: Bucket,
    ) -> Result<Vec<(i64, PathValues)>> {
        let layout = &self.stats.layout;
        let buckets = layout.buckets(BucketKind::Numbers, metric, granularity);
        let keys = bucket_keys(&buckets, span);
        let cursor = self.snapshot.scan(&keys, Direction::Forward)?;
        OwnRows::new(cursor, buckets.len(), span.end).read()
    }
}

/// Reserves memory for all buckets up to the end, after the first block.
fn reserve_packed(found: &mut Vec<(i64, PathValues)>, table: &Table, end: i64) {
    if let [first, .., last] = table.starts()
        && found.len() <= table.len()
    {
        let distance = last.saturating_sub(*first) / table.len() as i64;
        let more = end.saturating_sub(*last) / distance.max(1);
        let more = usize::try_from(more).unwrap_or(0);
        found.reserve(more.min(BUCKETS_RESERVED));
    }
}

/// Reads buckets with rows of their own, in order. Paths that the previous bucket had at the same index are shared.
struct OwnRows<'a> {
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

impl<'a> OwnRows<'a> {
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
