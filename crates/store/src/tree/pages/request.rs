//! The request of a page.

use espalier_keyspace::Direction;
use espalier_yang::Value;

use super::condition::PageCondition;
use super::sort_key::SortKey;

/// The order in which the entries of a page are sent (draft-ietf-netconf-list-pagination §3.1.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageDirection {
    /// From the first to the last.
    #[default]
    Forwards,
    /// From the last to the first.
    Backwards,
}

impl PageDirection {
    /// The direction of a scan.
    pub(super) fn of_scan(self) -> Direction {
        match self {
            Self::Forwards => Direction::Forward,
            Self::Backwards => Direction::Backward,
        }
    }

    /// The other direction.
    pub(super) fn reversed(self) -> Self {
        match self {
            Self::Forwards => Self::Backwards,
            Self::Backwards => Self::Forwards,
        }
    }
}

/// Where a page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PageStart {
    /// After this number of entries.
    Offset(u64),
    /// Where a cursor is.
    Cursor(Box<str>),
    /// After the entry with these keys.
    After(Vec<Value>),
}

/// A page of the entries of a list or leaf-list: those that fulfil a condition, sorted, in a direction, from a place, up to
/// a number. [`PageParameters::request`](super::PageParameters::request) makes it.
#[derive(Clone, Debug)]
pub struct PageRequest {
    pub(super) condition: PageCondition,
    /// Another order than that of the list.
    pub(super) sort: Option<SortKey>,
    /// Whether the request names an order, which has a locale.
    pub(super) is_sort_requested: bool,
    pub(super) direction: PageDirection,
    pub(super) start: PageStart,
    /// The maximum number of entries; none is unbounded.
    pub(super) limit: Option<u64>,
    /// What all pages of one query have in common.
    pub(super) query: String,
}

impl PageRequest {
    /// A page in the order of the list: its first entries, up to a limit if there is one.
    pub fn first(limit: Option<u64>) -> Self {
        Self {
            condition: PageCondition::All,
            sort: None,
            is_sort_requested: false,
            direction: PageDirection::Forwards,
            start: PageStart::Offset(0),
            limit,
            query: String::new(),
        }
    }

    /// The same page, beginning after the entry with these keys, or after the place where it would be. In a list ordered by
    /// user the entry must exist, and the order must be that of the list; else the page is `cursor-not-found`.
    #[must_use]
    pub fn after(self, keys: Vec<Value>) -> Self {
        Self {
            start: PageStart::After(keys),
            ..self
        }
    }

    /// Whether reading the page reads little else than its entries: neither skipped ones, nor those that a condition or an
    /// order examines.
    pub fn reads_only_its_entries(&self) -> bool {
        let skips = matches!(self.start, PageStart::Offset(offset) if offset > 0);
        !skips && self.sort.is_none() && self.condition.evaluated().is_none()
    }
}
