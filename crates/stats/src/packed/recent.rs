//! The recent row of a metric: its newest buckets of every granularity.

use std::sync::Arc;

use super::codec::Codec;
use super::integers::{put_signed, take_signed};
use super::paths::{put_paths, union};
use super::table::{FORMAT, Table};
use crate::calendar::Unit;
use crate::number::{put_text, put_varint, take_text, take_varint};
use crate::{Error, Granularity, Path, Result};

/// The tier has buckets with rows of their own.
const HAS_OWN: u8 = 1;

/// The tier has, or had, block rows.
const HAS_BLOCKS: u8 = 2;

/// The recent buckets of one granularity, and where the others are.
#[derive(Clone)]
pub(crate) struct Tier {
    /// The length of the buckets.
    pub(crate) granularity: Granularity,
    /// The start of the last bucket that has rows of its own; `None` if there is none.
    pub(crate) own_to: Option<i64>,
    /// Buckets before this time are in block rows, all others in `table`, unless they have rows of their own. `None` if
    /// there are no block rows.
    pub(crate) blocks_to: Option<i64>,
    /// The recent buckets.
    pub(crate) table: Table,
}

/// A decoded recent row.
#[derive(Clone, Default)]
pub(crate) struct Recent {
    /// One tier for each granularity that was written, in no particular order.
    pub(crate) tiers: Vec<Tier>,
}

impl Tier {
    /// A tier without packed buckets.
    pub(crate) fn new(granularity: Granularity, own_to: Option<i64>) -> Self {
        Self {
            granularity,
            own_to,
            blocks_to: None,
            table: Table::default(),
        }
    }

    fn put(&self, out: &mut Vec<u8>, codec: &mut Codec) {
        let body = &mut codec.part;
        body.clear();
        let own = if self.own_to.is_some() { HAS_OWN } else { 0 };
        let blocks = if self.blocks_to.is_some() { HAS_BLOCKS } else { 0 };
        body.push(own | blocks);
        for time in [self.own_to, self.blocks_to].into_iter().flatten() {
            put_signed(body, time);
        }
        self.table.put_body(body, &mut codec.columns);
        out.push(self.granularity.unit().id());
        put_varint(out, u128::from(self.granularity.count()));
        put_text(out, body);
    }

    /// Replaces the tier, except for its granularity, by a decoded one.
    fn take_body(
        &mut self,
        mut body: &[u8],
        paths: Arc<[Path]>,
        integers: &mut Vec<i64>,
    ) -> Result<()> {
        let flags = *body.split_off_first().ok_or_else(damaged)?;
        let mut time = |flag| match flags & flag {
            0 => Ok(None),
            _ => take_signed(&mut body).map(Some),
        };
        self.own_to = time(HAS_OWN)?;
        self.blocks_to = time(HAS_BLOCKS)?;
        self.table.take_body(&mut body, paths, integers)
    }
}

impl Recent {
    /// Removes the buckets of a granularity that start before a time; returns whether there were any.
    pub(crate) fn remove_before(&mut self, granularity: Granularity, start: i64) -> bool {
        let mut tiers = self.tiers.iter_mut();
        let tier = tiers.find(|tier| tier.granularity == granularity);
        tier.is_some_and(|tier| tier.table.remove_before(start))
    }

    /// Encodes the row, without columns that have no values.
    pub(crate) fn encode(&mut self, codec: &mut Codec) -> Vec<u8> {
        self.share_paths();
        let mut row = Vec::with_capacity(512);
        row.push(FORMAT);
        let paths = self.tiers.first().map_or(&[][..], |tier| &tier.table.paths);
        put_paths(&mut row, paths, &mut codec.part);
        for tier in &self.tiers {
            tier.put(&mut row, codec);
        }
        row
    }

    /// Gives all tables the same columns: those that have a value in any of them.
    fn share_paths(&mut self) {
        let Some((first, rest)) = self.tiers.split_first() else {
            return;
        };
        let mut used = first.table.used_paths();
        for tier in rest {
            let more = tier.table.used_paths();
            if used != more
                && let Some(longer) = union(&used, more.iter().cloned())
            {
                used = longer.into();
            }
        }
        let mut tables = self.tiers.iter().map(|tier| &tier.table);
        if tables.all(|table| *table.paths == *used) {
            return;
        }
        let used: Arc<[Path]> = used.into();
        for tier in &mut self.tiers {
            if tier.table.paths != used {
                tier.table.set_columns(Arc::clone(&used));
            }
        }
    }

    /// Decodes a row.
    pub(crate) fn decode(row: &[u8], codec: &mut Codec) -> Result<Self> {
        let mut recent = Self::default();
        recent.decode_again(row, codec)?;
        Ok(recent)
    }

    /// Replaces the tiers by those of a row, in the memory of those before.
    pub(crate) fn decode_again(&mut self, row: &[u8], codec: &mut Codec) -> Result<()> {
        let mut count = 0;
        each_tier(row, codec, |granularity, body, paths, integers| {
            if count == self.tiers.len() {
                self.tiers.push(Tier::new(granularity, None));
            }
            let tier = &mut self.tiers[count];
            tier.granularity = granularity;
            count += 1;
            tier.take_body(body, paths, integers)
        })?;
        self.tiers.truncate(count);
        Ok(())
    }

    /// Decodes the tier of one granularity; `None` if the row has none.
    pub(crate) fn decode_tier(
        row: &[u8],
        granularity: Granularity,
        codec: &mut Codec,
    ) -> Result<Option<Tier>> {
        let mut found = None;
        each_tier(row, codec, |other, body, paths, integers| {
            if other == granularity {
                let mut tier = Tier::new(granularity, None);
                tier.take_body(body, paths, integers)?;
                found = Some(tier);
            }
            Ok(())
        })?;
        Ok(found)
    }
}

fn each_tier(
    mut row: &[u8],
    codec: &mut Codec,
    mut each: impl FnMut(Granularity, &[u8], Arc<[Path]>, &mut Vec<i64>) -> Result<()>,
) -> Result<()> {
    if row.split_off_first() != Some(&FORMAT) {
        let message = "a stored row of recent buckets is of an unknown kind";
        return Err(Error::corrupt(message));
    }
    let paths = codec.paths.take(&mut row)?;
    while let Some(unit) = row.split_off_first() {
        let unit = Unit::from_id(*unit).ok_or_else(damaged)?;
        let count = u32::try_from(take_varint(&mut row)?).map_err(|_| damaged())?;
        let granularity = Granularity::new(count, unit).map_err(|_| damaged())?;
        let body = take_text(&mut row)?;
        each(granularity, body, Arc::clone(&paths), &mut codec.integers)?;
    }
    Ok(())
}

fn damaged() -> Error {
    Error::corrupt("a stored row of recent buckets is damaged")
}
