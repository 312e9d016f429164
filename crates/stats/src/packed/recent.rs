//! The recent row of a metric: its newest buckets of every granularity.

use std::sync::Arc;

use super::codec::Codec;
use super::paths::{put_paths, union};
use super::table::FORMAT;
use super::tier::{Tier, damaged};
use crate::calendar::Unit;
use crate::number::{take_text, take_varint};
use crate::{Error, Granularity, Path, Result};

/// The length of a row is a multiple of this. An engine that stores rows in pages overwrites a row of the same length,
/// and moves the other rows of the page otherwise.
const ROW_STEP_BYTES: usize = 64;

/// Takes the place of a unit after the last tier.
const END: u8 = 0;

/// A decoded recent row.
#[derive(Clone, Default)]
pub(crate) struct Recent {
    /// One tier for each granularity that was written, in no particular order.
    pub(crate) tiers: Vec<Tier>,
}

impl Recent {
    /// Removes the buckets of a granularity that start before a time; returns whether there were any.
    pub(crate) fn remove_before(&mut self, granularity: Granularity, start: i64) -> Result<bool> {
        let mut tiers = self.tiers.iter_mut();
        let tier = tiers.find(|tier| tier.granularity == granularity);
        tier.map_or(Ok(false), |tier| tier.remove_before(start))
    }

    /// Encodes the row, without columns that have no values.
    pub(crate) fn encode(&mut self, codec: &mut Codec) -> Result<Vec<u8>> {
        self.share_paths()?;
        let mut row = Vec::with_capacity(512);
        row.push(FORMAT);
        let paths = self.tiers.first().map_or(&[][..], Tier::paths);
        put_paths(&mut row, paths, &mut codec.part);
        for tier in &self.tiers {
            tier.put(&mut row, codec);
        }
        row.resize(row.len().next_multiple_of(ROW_STEP_BYTES), END);
        Ok(row)
    }

    /// Gives all tiers the same columns: those that have a value in any of them.
    fn share_paths(&mut self) -> Result<()> {
        let Some((first, rest)) = self.tiers.split_first() else {
            return Ok(());
        };
        let mut used = first.used_paths();
        for tier in rest {
            let more = tier.used_paths();
            if used != more
                && let Some(longer) = union(&used, more.iter().cloned())
            {
                used = longer.into();
            }
        }
        if self.tiers.iter().all(|tier| *tier.paths() == *used) {
            return Ok(());
        }
        let used: Arc<[Path]> = used.into();
        let mut tiers = self.tiers.iter_mut();
        tiers.try_for_each(|tier| tier.set_columns(&used))
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
        each_tier(row, codec, |granularity, body, paths| {
            if count == self.tiers.len() {
                self.tiers.push(Tier::new(granularity, None));
            }
            let tier = &mut self.tiers[count];
            tier.granularity = granularity;
            count += 1;
            tier.take_body(body, paths)
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
        each_tier(row, codec, |other, body, paths| {
            if other == granularity {
                let mut tier = Tier::new(granularity, None);
                tier.take_body(body, paths)?;
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
    mut each: impl FnMut(Granularity, &[u8], Arc<[Path]>) -> Result<()>,
) -> Result<()> {
    if row.split_off_first() != Some(&FORMAT) {
        let message = "a stored row of recent buckets is of an unknown kind";
        return Err(Error::corrupt(message));
    }
    let paths = codec.paths.take(&mut row)?;
    while let Some(unit) = row.split_off_first().filter(|unit| **unit != END) {
        let unit = Unit::from_id(*unit).ok_or_else(damaged)?;
        let count = u32::try_from(take_varint(&mut row)?).map_err(|_| damaged())?;
        let granularity = Granularity::new(count, unit).map_err(|_| damaged())?;
        let body = take_text(&mut row)?;
        each(granularity, body, Arc::clone(&paths))?;
    }
    Ok(())
}
