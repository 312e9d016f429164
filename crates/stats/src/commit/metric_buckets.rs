//! The buckets of one metric in a commit: decoded once, changed by all its writes, encoded once.
//!
//! A bucket is in one of three places: the recent row, a block row, or rows of its own. Every change of a bucket reads
//! the recent row, and every move of a bucket to another place changes it. So a commit whose precondition on the recent
//! row holds has found each bucket where it is.

use std::borrow::Cow;
use std::collections::BTreeMap;

use espalier_keyspace::{Direction, KeyRange};

use super::plan::Target;
use super::rows::{PackedRow, RowBefore, Rows};
use crate::layout::{self, BucketKind, Layout};
use crate::limits::{PACKED_VALUES_MAX, RECENT_BUCKETS_KEPT, RECENT_BUCKETS_MAX};
use crate::packed::{Codec, Fit, Recent, Table, Tier};
use crate::row::{MergeMode, Row, entries, row};
use crate::{Error, Granularity, Metric, Number, Path, Result};

/// Recent buckets of one granularity while a commit is decided, before the older ones move to blocks.
const RECENT_IN_MEMORY_MAX: usize = 16 * RECENT_BUCKETS_MAX;

/// The buckets of one metric.
pub(super) struct MetricBuckets<'a> {
    pub(super) layout: &'a Layout,
    pub(super) metric: &'a Metric,
    /// The metric may have buckets that its recent row does not mention: those of earlier versions.
    may_be_older: bool,
    pub(super) recent: Recent,
    /// The block rows that are read or changed, by granularity and number.
    pub(super) blocks: BTreeMap<(Granularity, i64), Block>,
}

/// A block row.
pub(super) struct Block {
    before: Option<Vec<u8>>,
    pub(super) table: Table,
}

/// Memory that is used again for each metric.
#[derive(Default)]
pub(super) struct Workspace {
    pub(super) codec: Codec,
    recent: Recent,
}

/// A change of a bucket.
#[derive(Clone, Copy)]
pub(super) struct BucketChange<'v> {
    /// Values, sorted by path.
    pub(super) values: &'v [(Path, Number)],
    /// How they change the existing ones.
    pub(super) mode: MergeMode,
}

/// Where a bucket is, or has to begin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Recent,
    Block,
    Own,
}

impl<'a> MetricBuckets<'a> {
    /// The buckets of a metric with this recent row.
    pub(super) fn load(
        layout: &'a Layout,
        metric: &'a Metric,
        rows: &mut Rows<'_>,
        recent: Option<&[u8]>,
        workspace: &mut Workspace,
    ) -> Result<Self> {
        let mut buckets = Self {
            layout,
            metric,
            may_be_older: true,
            recent: std::mem::take(&mut workspace.recent),
            blocks: BTreeMap::new(),
        };
        match recent {
            Some(row) => buckets.recent.decode_again(row, &mut workspace.codec)?,
            None => {
                buckets.recent.tiers.clear();
                // A metric that is listed may have rows of earlier versions.
                let listed = rows.put(&layout.metric(metric), metric.encode())?;
                buckets.may_be_older = listed == RowBefore::Present;
            }
        }
        Ok(buckets)
    }

    /// The index of a granularity's tier, which begins if it does not exist.
    pub(super) fn tier(&mut self, rows: &Rows<'_>, granularity: Granularity) -> Result<usize> {
        let mut tiers = self.recent.tiers.iter();
        if let Some(index) = tiers.position(|tier| tier.granularity == granularity) {
            return Ok(index);
        }
        let own_to = match self.may_be_older {
            true => self.last_own(rows, granularity)?,
            false => None,
        };
        self.recent.tiers.push(Tier::new(granularity, own_to));
        Ok(self.recent.tiers.len() - 1)
    }

    /// The start of the last bucket that has rows of its own.
    fn last_own(&self, rows: &Rows<'_>, granularity: Granularity) -> Result<Option<i64>> {
        let prefix = self.own(granularity);
        let range = KeyRange::prefix(&prefix);
        let mut cursor = rows.snapshot().scan(&range, Direction::Backward)?;
        let last = cursor.next()?;
        last.map(|(key, _)| layout::bucket_start(&key[prefix.len()..]))
            .transpose()
    }

    pub(super) fn own(&self, granularity: Granularity) -> Vec<u8> {
        self.layout
            .buckets(BucketKind::Numbers, self.metric, granularity)
    }

    fn own_key(&self, granularity: Granularity, start: i64) -> Vec<u8> {
        layout::bucket(&self.own(granularity), start)
    }

    fn block_key(&self, granularity: Granularity, number: i64) -> Vec<u8> {
        layout::block(&self.layout.blocks(self.metric, granularity), number)
    }

    /// The block that a bucket belongs to.
    pub(super) fn block(
        &mut self,
        rows: &mut Rows<'_>,
        granularity: Granularity,
        number: i64,
    ) -> Result<&mut Table> {
        let block = (granularity, number);
        if !self.blocks.contains_key(&block) {
            let key = self.block_key(granularity, number);
            let before = rows.snapshot().get(&key)?.map(Cow::into_owned);
            let table = before.as_deref();
            let table = table.map(|row| Table::decode(row, &mut Codec::default()));
            let table = table.transpose()?.unwrap_or_default();
            self.blocks.insert(block, Block { before, table });
        }
        match self.blocks.get_mut(&block) {
            Some(block) => Ok(&mut block.table),
            None => Err(Error::corrupt("a block disappeared while it was changed")),
        }
    }

    /// The table of a packed bucket.
    fn table(
        &mut self,
        rows: &mut Rows<'_>,
        tier: usize,
        place: Place,
        start: i64,
    ) -> Result<&mut Table> {
        let granularity = self.recent.tiers[tier].granularity;
        match place {
            Place::Block => self.block(rows, granularity, layout::block_number(granularity, start)),
            _ => self.recent.tiers[tier].table(),
        }
    }

    /// Changes a packed bucket.
    fn change_packed(
        &mut self,
        rows: &mut Rows<'_>,
        tier: usize,
        place: Place,
        (start, change): (i64, BucketChange<'_>),
    ) -> Result<Fit> {
        let BucketChange { values, mode } = change;
        match place {
            Place::Recent => self.recent.tiers[tier].change(start, values, mode),
            _ => {
                let table = self.table(rows, tier, place, start)?;
                table.change(start, values, mode)
            }
        }
    }

    /// Changes a bucket, which begins if it does not exist.
    pub(super) fn change(
        &mut self,
        rows: &mut Rows<'_>,
        target: Target,
        change: BucketChange<'_>,
    ) -> Result<()> {
        let tier = self.tier(rows, target.granularity)?;
        let place = self.place(rows, tier, target.start)?;
        self.change_at(rows, tier, place, target, change)?;
        if self.recent.tiers[tier].len() > RECENT_IN_MEMORY_MAX {
            self.move_to_blocks(rows, tier)?;
        }
        Ok(())
    }

    fn change_at(
        &mut self,
        rows: &mut Rows<'_>,
        tier: usize,
        place: Place,
        target: Target,
        change: BucketChange<'_>,
    ) -> Result<()> {
        let BucketChange { values, mode } = change;
        let Target {
            granularity, start, ..
        } = target;
        if place != Place::Own {
            let count = self.recent.tiers[tier].len();
            if self.change_packed(rows, tier, place, (start, change))? == Fit::Stored {
                if self.recent.tiers[tier].len() > count {
                    self.remove_expired(rows, tier, target.kept_from)?;
                }
                return Ok(());
            }
            let table = self.table(rows, tier, place, start)?;
            let existing = table
                .find(start)
                .map(|index| table.split_off(index..index + 1));
            if let Some(existing) = existing {
                let values: Vec<_> = owned_values(&existing, 0);
                rows.change(&self.own_key(granularity, start), &values, MergeMode::Set)?;
            }
        }
        let before = rows.change(&self.own_key(granularity, start), values, mode)?;
        if before == RowBefore::Absent {
            self.remove_expired_own(rows, tier, target.kept_from);
        }
        let own_to = &mut self.recent.tiers[tier].own_to;
        *own_to = (*own_to).max(Some(start));
        Ok(())
    }

    /// Where a bucket is. One that has rows of its own and fits into a shared row moves there.
    fn place(&mut self, rows: &mut Rows<'_>, index: usize, start: i64) -> Result<Place> {
        let tier = &mut self.recent.tiers[index];
        if tier.has(start)? {
            return Ok(Place::Recent);
        }
        let packed = match tier.blocks_to {
            Some(end) if start < end => Place::Block,
            _ => Place::Recent,
        };
        if tier.own_to.is_none_or(|last| start > last) {
            return Ok(packed);
        }
        let granularity = tier.granularity;
        let key = self.own_key(granularity, start);
        let Some(stored) = rows.get(&key)? else {
            return Ok(packed);
        };
        let Some(values) = packable(stored)? else {
            return Ok(Place::Own);
        };
        let (values, mode) = (values.as_slice(), MergeMode::Set);
        let change = BucketChange { values, mode };
        match self.change_packed(rows, index, packed, (start, change))? {
            Fit::TooLarge => Ok(Place::Own),
            Fit::Stored => {
                rows.delete(&key)?;
                Ok(packed)
            }
        }
    }

    /// Removes the recent buckets that have expired, and then also the block rows.
    fn remove_expired(
        &mut self,
        rows: &mut Rows<'_>,
        tier: usize,
        kept_from: Option<i64>,
    ) -> Result<()> {
        if let Some(kept_from) = kept_from
            && self.recent.tiers[tier].remove_before(kept_from)?
        {
            self.remove_expired_blocks(rows, tier, kept_from);
            self.remove_expired_own(rows, tier, Some(kept_from));
        }
        Ok(())
    }

    fn remove_expired_blocks(&self, rows: &mut Rows<'_>, tier: usize, kept_from: i64) {
        let tier = &self.recent.tiers[tier];
        if tier.blocks_to.is_some() {
            let start = self.layout.blocks(self.metric, tier.granularity);
            let first = layout::block_number(tier.granularity, kept_from);
            let end = layout::block(&start, first);
            rows.drop_range(KeyRange::new(start, end));
        }
    }

    fn remove_expired_own(&mut self, rows: &mut Rows<'_>, tier: usize, kept_from: Option<i64>) {
        let Some(kept_from) = kept_from else { return };
        let own = self.own(self.recent.tiers[tier].granularity);
        let tier = &mut self.recent.tiers[tier];
        if tier.own_to.is_some() {
            let end = layout::bucket(&own, kept_from);
            rows.drop_range(KeyRange::new(own, end));
            tier.own_to = tier.own_to.filter(|last| *last >= kept_from);
        }
    }

    /// Moves the recent buckets of a tier, except for the newest ones, to block rows.
    fn move_to_blocks(&mut self, rows: &mut Rows<'_>, index: usize) -> Result<()> {
        let tier = &mut self.recent.tiers[index];
        let count = tier.len().saturating_sub(RECENT_BUCKETS_KEPT);
        let granularity = tier.granularity;
        let table = tier.table()?;
        let moved = table.split_off(0..count);
        tier.blocks_to = table.starts().first().copied().or(tier.blocks_to);
        for (position, start) in moved.starts().iter().enumerate() {
            let values = owned_values(&moved, position);
            let number = layout::block_number(granularity, *start);
            let block = self.block(rows, granularity, number)?;
            if block.change(*start, &values, MergeMode::Set)? == Fit::TooLarge {
                rows.change(&self.own_key(granularity, *start), &values, MergeMode::Set)?;
                let own_to = &mut self.recent.tiers[index].own_to;
                *own_to = (*own_to).max(Some(*start));
            }
        }
        Ok(())
    }

    /// Moves buckets to blocks if there are too many, and writes the rows: the recent row has this key and value.
    pub(super) fn finish(
        mut self,
        rows: &mut Rows<'_>,
        (key, before): (Vec<u8>, Option<Vec<u8>>),
        kept_from: &dyn Fn(Granularity) -> Option<i64>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        for index in 0..self.recent.tiers.len() {
            if self.recent.tiers[index].len() > RECENT_BUCKETS_MAX {
                self.move_to_blocks(rows, index)?;
                if let Some(kept_from) = kept_from(self.recent.tiers[index].granularity) {
                    self.remove_expired_blocks(rows, index, kept_from);
                    self.remove_expired_own(rows, index, Some(kept_from));
                }
            }
        }
        let codec = &mut workspace.codec;
        let new = Some(self.recent.encode(codec)?);
        rows.put_recent(PackedRow { key, before, new });
        for ((granularity, number), block) in std::mem::take(&mut self.blocks) {
            let Block { before, mut table } = block;
            let key = self.block_key(granularity, number);
            let new = (table.len() > 0).then(|| table.encode(codec));
            rows.put_block(PackedRow { key, before, new });
        }
        workspace.recent = self.recent;
        Ok(())
    }

    /// The value of a path in a bucket.
    pub(super) fn number(
        &mut self,
        rows: &mut Rows<'_>,
        target: Target,
        path: &Path,
    ) -> Result<Option<Number>> {
        let Target {
            granularity, start, ..
        } = target;
        let tier = self.tier(rows, granularity)?;
        match self.place(rows, tier, start)? {
            Place::Own => rows.number(&self.own_key(granularity, start), path),
            place => {
                let table = self.table(rows, tier, place, start)?;
                Ok(table
                    .find(start)
                    .and_then(|index| table.number(index, path)))
            }
        }
    }
}

fn owned_values(table: &Table, index: usize) -> Vec<(Path, Number)> {
    let values = table.values(index);
    values
        .map(|(path, number)| (path.clone(), number))
        .collect()
}

/// The values of a bucket with a row of its own, if they are few enough for a shared row.
fn packable(stored: &[u8]) -> Result<Option<Vec<(Path, Number)>>> {
    let Row::Leaf(all) = row(stored)? else {
        return Ok(None);
    };
    if entries(all).take(PACKED_VALUES_MAX + 1).count() > PACKED_VALUES_MAX {
        return Ok(None);
    }
    let values = entries(all).map(|entry| {
        let entry = entry?;
        Ok((Path::stored(entry.path)?, entry.number))
    });
    values.collect::<Result<_>>().map(Some)
}
