//! The recent row of a metric: its newest buckets of every granularity.

use std::sync::Arc;

use super::column::ColumnWriter;
use super::integers::{put_signed, take_signed};
use super::paths::{PathCache, put_paths, union};
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

    fn put(&self, out: &mut Vec<u8>, body: &mut Vec<u8>, writer: &mut ColumnWriter) {
        body.clear();
        let own = if self.own_to.is_some() { HAS_OWN } else { 0 };
        let blocks = if self.blocks_to.is_some() { HAS_BLOCKS } else { 0 };
        body.push(own | blocks);
        for time in [self.own_to, self.blocks_to].into_iter().flatten() {
            put_signed(body, time);
        }
        self.table.put_body(body, writer);
        out.push(self.granularity.unit().id());
        put_varint(out, u128::from(self.granularity.count()));
        put_text(out, body);
    }

    fn take_body(granularity: Granularity, mut body: &[u8], paths: Arc<[Path]>) -> Result<Self> {
        let flags = *body.split_off_first().ok_or_else(damaged)?;
        let mut time = |flag| match flags & flag {
            0 => Ok(None),
            _ => take_signed(&mut body).map(Some),
        };
        Ok(Self {
            granularity,
            own_to: time(HAS_OWN)?,
            blocks_to: time(HAS_BLOCKS)?,
            table: Table::take_body(&mut body, paths)?,
        })
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
    pub(crate) fn encode(&mut self) -> Vec<u8> {
        self.share_paths();
        let mut row = Vec::with_capacity(256);
        row.push(FORMAT);
        put_paths(&mut row, self.tiers.first().map_or(&[], |tier| &tier.table.paths));
        let (mut body, mut writer) = (Vec::with_capacity(256), ColumnWriter::default());
        for tier in &self.tiers {
            tier.put(&mut row, &mut body, &mut writer);
        }
        row
    }

    /// Gives all tables the same columns: those that have a value in any of them.
    fn share_paths(&mut self) {
        let mut used: Vec<Path> = Vec::new();
        for tier in &self.tiers {
            if let Some(longer) = union(&used, tier.table.used_paths().into_iter()) {
                used = longer;
            }
        }
        let used: Arc<[Path]> = used.into();
        for tier in &mut self.tiers {
            if tier.table.paths != used {
                tier.table.set_columns(Arc::clone(&used));
            }
        }
    }

    /// Decodes a row.
    pub(crate) fn decode(row: &[u8], cache: &mut PathCache) -> Result<Self> {
        let mut tiers = Vec::with_capacity(8);
        each_tier(row, cache, |granularity, body, paths| {
            tiers.push(Tier::take_body(granularity, body, paths)?);
            Ok(())
        })?;
        Ok(Self { tiers })
    }

    /// Decodes the tier of one granularity; `None` if the row has none.
    pub(crate) fn decode_tier(
        row: &[u8],
        granularity: Granularity,
        cache: &mut PathCache,
    ) -> Result<Option<Tier>> {
        let mut found = None;
        each_tier(row, cache, |other, body, paths| {
            if other == granularity {
                found = Some(Tier::take_body(granularity, body, paths)?);
            }
            Ok(())
        })?;
        Ok(found)
    }
}

fn each_tier(
    mut row: &[u8],
    cache: &mut PathCache,
    mut each: impl FnMut(Granularity, &[u8], Arc<[Path]>) -> Result<()>,
) -> Result<()> {
    if row.split_off_first() != Some(&FORMAT) {
        return Err(Error::corrupt("a stored row of recent buckets is of an unknown kind"));
    }
    let paths = cache.take(&mut row)?;
    while let Some(unit) = row.split_off_first() {
        let unit = Unit::from_id(*unit).ok_or_else(damaged)?;
        let count = u32::try_from(take_varint(&mut row)?).map_err(|_| damaged())?;
        let granularity = Granularity::new(count, unit).map_err(|_| damaged())?;
        each(granularity, take_text(&mut row)?, Arc::clone(&paths))?;
    }
    Ok(())
}

fn damaged() -> Error {
    Error::corrupt("a stored row of recent buckets is damaged")
}
