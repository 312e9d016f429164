//! Finds the entries of a page in the order of a leaf.
//!
//! All entries of the list are examined, and those up to the end of the page are kept. An ordered index of the leaf would
//! make this a scan as in `cut.rs`.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use espalier_keyspace::{Direction, KeyRange};
use espalier_yang::Instances;

use super::cursor::{Position, Side};
use super::entries::Entries;
use super::limits::{PAGE_SORT_BYTES_MAX, too_big};
use super::page::{FoundPage, PageEntries, Start, out_of_range};
use super::request::PageDirection;
use super::sort_key::SortKey;
use crate::error::{Error, Result};
use crate::tree::validate::NodeRef;

/// A page in the order of a leaf. Entries with the same value are in the order of the list, those without one after all
/// others; backwards, all of that is reversed.
pub(super) struct Sorted<'a> {
    pub range: &'a KeyRange,
    pub key: &'a SortKey,
    pub direction: PageDirection,
    pub start: &'a Start,
    pub limit: Option<u64>,
}

/// An entry in the order in which a page is found.
#[derive(PartialEq, Eq)]
struct Ranked {
    at: Position,
    direction: PageDirection,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        in_direction(self.direction, self.at.cmp(&other.at))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn in_direction(direction: PageDirection, order: Ordering) -> Ordering {
    match direction {
        PageDirection::Forwards => order,
        PageDirection::Backwards => order.reverse(),
    }
}

/// The nearest entries to the start of a page.
#[derive(Default)]
struct Nearest {
    heap: BinaryHeap<Ranked>,
    bytes: usize,
    /// The number of entries on the side of the page.
    candidates: u64,
    /// The number of the others.
    others: u64,
}

impl Nearest {
    /// Adds an entry, and removes the farthest if there are more than `most`.
    ///
    /// # Errors
    /// `too-big` beyond [`PAGE_SORT_BYTES_MAX`].
    fn add(&mut self, entry: Ranked, most: u64) -> Result<()> {
        let size =
            |entry: &Ranked| size_of::<Ranked>() + entry.at.sort.len() + entry.at.entry.len();
        self.candidates += 1;
        self.bytes += size(&entry);
        self.heap.push(entry);
        if self.heap.len() as u64 > most
            && let Some(farthest) = self.heap.pop()
        {
            self.bytes -= size(&farthest);
        }
        match self.bytes > PAGE_SORT_BYTES_MAX {
            true => {
                let limit = PAGE_SORT_BYTES_MAX as u64;
                Err(too_big(
                    "the sorting of many entries",
                    limit,
                    "PAGE_SORT_BYTES_MAX",
                ))
            }
            false => Ok(()),
        }
    }
}

impl Sorted<'_> {
    /// The entries of the page.
    pub fn find<T: Instances<Inner = NodeRef, Error = Error>>(
        &self,
        entries: &mut Entries<'_, T>,
    ) -> Result<FoundPage> {
        let is_reversed = matches!(self.start, Start::At(Side::Before, ..));
        let nearest = self.nearest(entries, is_reversed)?;
        let offset = match self.start {
            Start::Offset(offset) => *offset,
            Start::At(..) => 0,
        };
        if offset > nearest.candidates {
            return Err(out_of_range(offset, nearest.candidates));
        }
        let total = nearest.candidates + nearest.others;
        let found = nearest.heap.into_sorted_vec();
        let skipped = usize::try_from(offset).unwrap_or(usize::MAX);
        let mut found: Vec<Position> = found.into_iter().skip(skipped).map(|one| one.at).collect();
        if is_reversed {
            found.reverse();
        }
        let count = found.len() as u64;
        let before = match self.start {
            Start::Offset(offset) => *offset,
            Start::At(Side::After, ..) => nearest.others,
            Start::At(Side::Before, ..) => nearest.candidates - count,
        };
        let list = entries.list.key;
        let keys = found.iter().map(|at| [list, &at.entry].concat().into());
        Ok(FoundPage {
            entries: PageEntries::Keys(keys.collect()),
            count,
            ends: found.first().cloned().zip(found.last().cloned()),
            has_previous: before > 0,
            has_next: before + count < total,
            before: Some(before),
            total: Some(total),
        })
    }

    fn nearest<T: Instances<Inner = NodeRef, Error = Error>>(
        &self,
        entries: &mut Entries<'_, T>,
        is_reversed: bool,
    ) -> Result<Nearest> {
        let direction = match is_reversed {
            true => self.direction.reversed(),
            false => self.direction,
        };
        let most = match (self.limit, self.start) {
            (None, _) => u64::MAX,
            (Some(limit), Start::Offset(offset)) => offset.saturating_add(limit),
            (Some(limit), Start::At(..)) => limit,
        };
        let list = entries.list.key.len();
        let mut nearest = Nearest::default();
        entries.each(
            self.range,
            Direction::Forward,
            &mut |entries, entry, row| {
                entries.examine()?;
                let at = Position {
                    sort: entries.sort_place(self.key, entry, row)?,
                    entry: entry[list..].to_vec(),
                };
                match self.is_candidate(&at, direction) {
                    true => nearest.add(Ranked { at, direction }, most)?,
                    false => nearest.others += 1,
                }
                Ok(ControlFlow::Continue(()))
            },
        )?;
        Ok(nearest)
    }

    /// Whether an entry is on the side of the page, in the direction in which it is found.
    fn is_candidate(&self, at: &Position, direction: PageDirection) -> bool {
        match self.start {
            Start::Offset(_) => true,
            Start::At(_, bound, _) => in_direction(direction, at.cmp(bound)) == Ordering::Greater,
        }
    }
}
