//! Finds the entries of a page in the order of their list, or in the reverse of it.

use std::ops::ControlFlow;

use espalier_keyspace::KeyRange;
use espalier_yang::Instances;

use super::cursor::{Position, Side};
use super::entries::Entries;
use super::page::{Collected, FoundPage, Start, out_of_range};
use super::request::PageDirection;
use super::scope::on_side;
use crate::error::{Error, Result};
use crate::tree::validate::NodeRef;

/// A page in the order of its list.
pub(super) struct Cut<'a> {
    /// The range of all entries that can be on it.
    pub range: &'a KeyRange,
    pub direction: PageDirection,
    pub start: &'a Start,
}

impl Cut<'_> {
    /// The first entries, up to a limit.
    pub fn find<T: Instances<Inner = NodeRef, Error = Error>>(
        &self,
        entries: &mut Entries<'_, T>,
        limit: u64,
    ) -> Result<FoundPage> {
        // A page that ends before an entry is found from there.
        let is_reversed = matches!(self.start, Start::At(Side::Before, ..));
        let direction = match is_reversed {
            true => self.direction.reversed(),
            false => self.direction,
        };
        let is_range = entries.are_ranges() && self.direction == PageDirection::Forwards;
        let (mut collected, mut has_more) = (Collected::default(), false);
        let mut skip = self.offset();
        let range = self.range_from_start(entries);
        entries.each(&range, direction.of_scan(), &mut |entries, entry, _| {
            if skip > 0 {
                skip -= 1;
                entries.examine()?;
                return Ok(ControlFlow::Continue(()));
            }
            if collected.count < limit {
                return collected.add(entry, is_range);
            }
            has_more = true;
            Ok(ControlFlow::Break(()))
        })?;
        if skip > 0 {
            return Err(out_of_range(self.offset(), self.offset() - skip));
        }
        let list = entries.list.key.len();
        let position = |entry: &[u8]| Position {
            sort: Vec::new(),
            entry: entry[list..].to_vec(),
        };
        let ends = collected.ends().map(|(first, last)| match is_reversed {
            true => (position(last), position(first)),
            false => (position(first), position(last)),
        });
        let (has_previous, has_next) = match (&ends, is_reversed) {
            (None, _) => (false, false),
            (Some((_, last)), true) => (has_more, self.has_any(entries, Side::After, last)?),
            (Some((first, _)), false) => {
                let is_after_others = match self.start {
                    Start::Offset(offset) => *offset > 0,
                    Start::At(..) => self.has_any(entries, Side::Before, first)?,
                };
                (is_after_others, has_more)
            }
        };
        let count = collected.count;
        Ok(FoundPage {
            entries: collected.entries(is_reversed),
            count,
            ends,
            has_previous,
            has_next,
            before: self.before(count),
            total: None,
        })
    }

    /// Sends all entries, without a limit.
    pub fn send_all<T: Instances<Inner = NodeRef, Error = Error>>(
        &self,
        entries: &mut Entries<'_, T>,
        begin: &mut dyn FnMut(&mut Entries<'_, T>) -> Result<bool>,
    ) -> Result<()> {
        let range = self.range_from_start(entries);
        let is_range = entries.are_ranges() && self.direction == PageDirection::Forwards;
        if is_range && self.offset() == 0 {
            begin(entries)?;
            return entries.output.send_range(&range);
        }
        let (mut skip, mut is_begun, mut rest) = (self.offset(), false, None);
        entries.each(
            &range,
            self.direction.of_scan(),
            &mut |entries, entry, _| {
                if skip > 0 {
                    skip -= 1;
                    entries.examine()?;
                    return Ok(ControlFlow::Continue(()));
                }
                if is_range {
                    rest = Some(entry.to_vec());
                    return Ok(ControlFlow::Break(()));
                }
                if !is_begun && !begin(entries)? {
                    return Ok(ControlFlow::Break(()));
                }
                is_begun = true;
                Ok(match entries.output.send(entry)? {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                })
            },
        )?;
        if skip > 0 {
            return Err(out_of_range(self.offset(), self.offset() - skip));
        }
        if let Some(start) = rest {
            begin(entries)?;
            let end = range.end;
            entries.output.send_range(&KeyRange { start, end })?;
        }
        Ok(())
    }

    fn offset(&self) -> u64 {
        match self.start {
            Start::Offset(offset) => *offset,
            Start::At(..) => 0,
        }
    }

    /// The number of entries before a page of `count` entries, if it is known.
    fn before(&self, count: u64) -> Option<u64> {
        match self.start {
            Start::Offset(offset) => Some(*offset),
            Start::At(Side::After, _, before) => *before,
            Start::At(Side::Before, _, before) => before.map(|before| before.saturating_sub(count)),
        }
    }

    fn range_from_start<T: Instances<Inner = NodeRef, Error = Error>>(
        &self,
        entries: &Entries<'_, T>,
    ) -> KeyRange {
        match self.start {
            Start::Offset(_) => self.range.clone(),
            Start::At(side, at, _) => self.range_at(entries, *side, at),
        }
    }

    fn range_at<T: Instances<Inner = NodeRef, Error = Error>>(
        &self,
        entries: &Entries<'_, T>,
        side: Side,
        at: &Position,
    ) -> KeyRange {
        let entry = [entries.list.key, &at.entry].concat();
        on_side(self.range, &entry, side, self.direction.of_scan())
    }

    /// Whether there is an entry on a side of another. The nearest one is found first.
    fn has_any<T: Instances<Inner = NodeRef, Error = Error>>(
        &self,
        entries: &mut Entries<'_, T>,
        side: Side,
        of: &Position,
    ) -> Result<bool> {
        let range = self.range_at(entries, side, of);
        let direction = match side {
            Side::After => self.direction,
            Side::Before => self.direction.reversed(),
        };
        let mut is_found = false;
        entries.each(&range, direction.of_scan(), &mut |_, _, _| {
            is_found = true;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(is_found)
    }
}
