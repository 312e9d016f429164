//! Adds to the latest values of a metric, which may be in an earlier bucket.

use espalier_keyspace::{Direction, KeyRange};

use super::metric_buckets::MetricBuckets;
use super::plan::Target;
use super::rows::Rows;
use crate::layout::{block, block_number, bucket, bucket_start};
use crate::packed::{Codec, Table};
use crate::row::{Row, entries, row};
use crate::{Number, Path, PathValues, Result};

/// A bucket and its value of a path.
type Found = Option<(i64, Number)>;

impl MetricBuckets<'_> {
    /// The amounts to add to a bucket so that each value becomes the latest existing value plus the given one.
    pub(super) fn add_to_latest(
        &mut self,
        rows: &mut Rows<'_>,
        target: Target,
        values: &PathValues,
    ) -> Result<PathValues> {
        let mut added = values.clone();
        for (path, number) in values {
            if self.number(rows, target, path)?.is_none()
                && let Some((_, latest)) = self.latest_before(rows, target, path)?
            {
                let sum = latest.plus(*number).map_err(|error| error.at(path))?;
                added.set(path.clone(), sum);
            }
        }
        Ok(added)
    }

    /// The value of a path in the last earlier bucket that has it. The commit requires that the recent row and that
    /// bucket are unchanged.
    fn latest_before(&mut self, rows: &mut Rows<'_>, target: Target, path: &Path) -> Result<Found> {
        let tier = self.tier(rows, target.granularity)?;
        let tier = &mut self.recent.tiers[tier];
        let first = target.kept_from.unwrap_or(i64::MIN);
        let (own_to, blocks_to) = (tier.own_to, tier.blocks_to);
        let mut latest = tier.table()?.latest(path, target.start);
        if latest.is_none()
            && let Some(end) = blocks_to
        {
            latest = self.latest_in_blocks(rows, target, path, end)?;
        }
        latest = latest.filter(|(start, _)| *start >= first);
        // A bucket with rows of its own is never in a shared row.
        let first = latest.map_or(first, |(start, _)| start);
        if own_to.is_some_and(|last| last >= first)
            && let Some(own) = self.latest_own(rows, target, path, first)?
        {
            latest = Some(own);
        }
        Ok(latest)
    }

    fn latest_in_blocks(
        &mut self,
        rows: &mut Rows<'_>,
        target: Target,
        path: &Path,
        blocks_to: i64,
    ) -> Result<Found> {
        let Target {
            granularity,
            start,
            kept_from,
        } = target;
        let last = block_number(granularity, start.min(blocks_to - 1));
        let first = kept_from.map(|kept| block_number(granularity, kept));
        let changed = self.blocks.range(..=(granularity, last)).rev();
        let mut changed = changed.take_while(|((other, _), _)| *other == granularity);
        let changed = changed.find_map(|((_, number), block)| {
            let latest = block.table.latest(path, start);
            latest.map(|found| (*number, found))
        });
        let prefix = self.layout.blocks(self.metric, granularity);
        let from = first.map_or_else(|| prefix.clone(), |first| block(&prefix, first));
        let range = KeyRange::new(from, block(&prefix, last + 1));
        let mut cursor = rows.snapshot().scan(&range, Direction::Backward)?;
        let mut codec = Codec::default();
        while let Some((key, stored)) = cursor.next()? {
            let number = bucket_start(&key[prefix.len()..])?;
            if changed.is_some_and(|(changed, _)| changed >= number) {
                break;
            }
            if self.blocks.contains_key(&(granularity, number)) {
                continue;
            }
            let table = Table::decode(stored, &mut codec)?;
            if let Some(found) = table.latest(path, start) {
                drop(cursor);
                self.block(rows, granularity, number)?;
                return Ok(Some(found));
            }
        }
        Ok(changed.map(|(_, found)| found))
    }

    /// The value in the last bucket from `first` on that has rows of its own.
    fn latest_own(
        &self,
        rows: &mut Rows<'_>,
        target: Target,
        path: &Path,
        first: i64,
    ) -> Result<Found> {
        let buckets = self.own(target.granularity);
        let range = KeyRange::new(bucket(&buckets, first), bucket(&buckets, target.start));
        let start = |key: &[u8]| bucket_start(&key[buckets.len()..]);
        // The changes of this commit are newer than the stored rows.
        let mut changed: Vec<i64> = rows.keys(&range).map(start).collect::<Result<_>>()?;
        let mut cursor = rows.snapshot().scan(&range, Direction::Backward)?;
        loop {
            let stored = match cursor.next()? {
                Some((key, value)) => Some((start(key)?, has(value, path)?)),
                None => None,
            };
            let is_later = |changed: &mut i64| stored.is_none_or(|(stored, _)| *changed >= stored);
            while let Some(start) = changed.pop_if(is_later) {
                if let Some(number) = rows.number(&bucket(&buckets, start), path)? {
                    return Ok(Some((start, number)));
                }
            }
            match stored {
                Some((start, true)) => {
                    // The commit may have moved it to a shared row.
                    if let Some(number) = rows.number(&bucket(&buckets, start), path)? {
                        return Ok(Some((start, number)));
                    }
                }
                Some((_, false)) => {}
                None => return Ok(None),
            }
        }
    }
}

/// Whether a stored row has a value of a path.
fn has(stored: &[u8], path: &Path) -> Result<bool> {
    match row(stored)? {
        Row::Spread => Ok(false),
        Row::Leaf(all) => {
            for entry in entries(all) {
                if entry?.path == path.as_str().as_bytes() {
                    return Ok(true);
                }
            }
            Ok(false)
        }
    }
}
