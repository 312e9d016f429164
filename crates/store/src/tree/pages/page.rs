//! A page: its entries, and what surrounds them.

use std::ops::ControlFlow;

use espalier_keyspace::KeyRange;
use espalier_yang::{DataError, ErrorTag, ErrorType, Instances};

use super::cursor::{Cursor, ListState, Position, QueryHash, Side};
use super::entries::Entries;
use super::limits::{PAGE_KEYS_BYTES_MAX, too_big};
use super::metadata::{PageInfo, Remaining};
use super::parameters::LOCALE;
use super::request::PageRequest;
use crate::error::{Error, Result};
use crate::tree::validate::NodeRef;

/// Where a page begins, with what is known about the place.
#[derive(Clone, Debug)]
pub(super) enum Start {
    /// After this number of entries.
    Offset(u64),
    /// On one side of an entry. The number of entries before the place, if it is known.
    At(Side, Position, Option<u64>),
}

/// The entries of a page, by their keys.
#[derive(Debug)]
pub(super) enum PageEntries {
    /// Those of a range of the list, in its order.
    Range(KeyRange),
    /// These, in this order.
    Keys(Vec<Box<[u8]>>),
}

/// A page that was found.
#[derive(Debug)]
pub(super) struct FoundPage {
    pub entries: PageEntries,
    pub count: u64,
    /// The first and the last entry; none of a page without entries.
    pub ends: Option<(Position, Position)>,
    pub has_previous: bool,
    pub has_next: bool,
    /// The number of entries before the page, if it is known.
    pub before: Option<u64>,
    /// The number of all entries, if it is known.
    pub total: Option<u64>,
}

impl FoundPage {
    /// The metadata of a page with a limit.
    pub fn info(
        &self,
        request: &PageRequest,
        (query, state): (QueryHash, Option<ListState>),
        keys_of: &dyn Fn(&Position) -> Result<Vec<u8>>,
        has_cursors: bool,
    ) -> Result<PageInfo> {
        let Some((first, last)) = &self.ends else {
            return Ok(PageInfo::default());
        };
        let after = self.before.map(|before| before + self.count);
        let remaining = match (self.total, after) {
            (Some(total), Some(after)) => Remaining::Known(total.saturating_sub(after)),
            _ => Remaining::Unknown,
        };
        let text = |side: Side, at: &Position, rank: Option<u64>| -> Result<String> {
            let cursor = Cursor {
                side,
                at: at.clone(),
                keys: keys_of(at)?,
                rank: rank.zip(state),
            };
            Ok(cursor.text(query))
        };
        let next = self.has_next && has_cursors;
        let previous = self.has_previous && has_cursors;
        Ok(PageInfo {
            remaining: self.has_next.then_some(remaining),
            next: next.then(|| text(Side::After, last, after)).transpose()?,
            previous: previous
                .then(|| text(Side::Before, first, self.before))
                .transpose()?,
            locale: request.is_sort_requested.then_some(LOCALE),
        })
    }

    /// Sends the entries.
    pub fn send<T: Instances<Inner = NodeRef, Error = Error>>(
        &self,
        entries: &mut Entries<'_, T>,
    ) -> Result<()> {
        match &self.entries {
            PageEntries::Range(range) => entries.output.send_range(range),
            PageEntries::Keys(keys) => {
                for key in keys {
                    if !entries.output.send(key)? {
                        break;
                    }
                }
                Ok(())
            }
        }
    }
}

/// The entries of a page, while they are found.
#[derive(Default)]
pub(super) struct Collected {
    /// The keys of all of them, or of the last.
    keys: Vec<Box<[u8]>>,
    /// The key of the first, if the others are not kept.
    first: Option<Box<[u8]>>,
    pub count: u64,
    bytes: usize,
}

impl Collected {
    /// Adds an entry. In a range, only the first and the last are kept.
    ///
    /// # Errors
    /// `too-big` beyond [`PAGE_KEYS_BYTES_MAX`].
    pub fn add(&mut self, entry: &[u8], is_range: bool) -> Result<ControlFlow<()>> {
        self.count += 1;
        if is_range {
            match &self.first {
                None => self.first = Some(entry.into()),
                Some(_) => self.keys.clear(),
            }
            self.keys.push(entry.into());
            return Ok(ControlFlow::Continue(()));
        }
        self.bytes += entry.len() + size_of::<Box<[u8]>>();
        if self.bytes > PAGE_KEYS_BYTES_MAX {
            let limit = PAGE_KEYS_BYTES_MAX as u64;
            return Err(too_big(
                "the keys of many entries",
                limit,
                "PAGE_KEYS_BYTES_MAX",
            ));
        }
        self.keys.push(entry.into());
        Ok(ControlFlow::Continue(()))
    }

    /// The entries; reversed if they were found in the other direction than that of the page.
    pub fn entries(mut self, is_reversed: bool) -> PageEntries {
        if let (Some(first), Some(last)) = (self.first, self.keys.last()) {
            let (least, most) = match first < *last {
                true => (&first, last),
                false => (last, &first),
            };
            return PageEntries::Range(KeyRange {
                start: least.to_vec(),
                end: KeyRange::prefix(most).end,
            });
        }
        if is_reversed {
            self.keys.reverse();
        }
        PageEntries::Keys(self.keys)
    }

    /// The first and the last entry, in the order in which they were found.
    pub fn ends(&self) -> Option<(&[u8], &[u8])> {
        let first = self.first.as_ref().or(self.keys.first())?;
        Some((first, self.keys.last()?))
    }
}

/// The error of an offset beyond the last entry.
pub(super) fn out_of_range(offset: u64, entries: u64) -> Error {
    let message = format!("the offset is {offset}, but there are {entries} entries");
    let error = DataError::new(ErrorTag::InvalidValue, message).of_type(ErrorType::Application);
    error
        .with_app_tag("ietf-list-pagination:offset-out-of-range")
        .on_element("offset")
        .into()
}
