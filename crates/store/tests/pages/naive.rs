//! The naive model of a list: a vector of entries.

use std::cmp::Ordering;

/// An entry of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub site: String,
    pub id: u32,
    pub rank: Option<i32>,
    pub label: Option<String>,
    pub size: Option<u8>,
    /// Deleted; only its place is left.
    pub is_gone: bool,
}

/// The order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By `id`.
    Id,
    /// By `id` as a string.
    Text,
    /// By `site` and `id`.
    SiteAndId,
    /// As inserted.
    User,
}

/// What entries are sorted by, besides the order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    None,
    Site,
    Id,
    Rank,
    Label,
    Size,
}

/// The place of a value: missing ones last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SortValue {
    Number(i64),
    Text(String),
    Missing,
}

/// A place in the order of a page: of the sort value of an entry, and the entry itself.
#[derive(Clone, Debug)]
pub struct Anchor {
    pub value: SortValue,
    pub entry: Entry,
}

pub struct List {
    pub order: Order,
    pub entries: Vec<Entry>,
}

impl Sort {
    pub fn value(self, entry: &Entry, order: Order) -> SortValue {
        let number = |value: Option<i64>| value.map_or(SortValue::Missing, SortValue::Number);
        match self {
            Self::None => SortValue::Missing,
            Self::Site => SortValue::Text(entry.site.clone()),
            Self::Id if order == Order::Text => SortValue::Text(entry.id.to_string()),
            Self::Id => SortValue::Number(entry.id.into()),
            Self::Rank => number(entry.rank.map(i64::from)),
            Self::Size => number(entry.size.map(i64::from)),
            Self::Label => {
                let label = entry.label.clone();
                label.map_or(SortValue::Missing, SortValue::Text)
            }
        }
    }
}

impl List {
    /// The order of two entries in the list.
    pub fn compare(&self, one: &Entry, other: &Entry) -> Ordering {
        match self.order {
            Order::Id => one.id.cmp(&other.id),
            Order::Text => one.id.to_string().cmp(&other.id.to_string()),
            Order::SiteAndId => (&one.site, one.id).cmp(&(&other.site, other.id)),
            Order::User => self.index_of(one).cmp(&self.index_of(other)),
        }
    }

    pub fn index_of(&self, entry: &Entry) -> usize {
        let mut entries = self.entries.iter();
        let has_site = matches!(self.order, Order::SiteAndId | Order::User);
        let found =
            entries.position(|one| one.id == entry.id && (!has_site || one.site == entry.site));
        found.expect("an entry, or its place")
    }

    /// The entries, filtered, sorted and reversed.
    pub fn query(
        &self,
        filter: &dyn Fn(&Entry) -> bool,
        sort: Sort,
        is_reversed: bool,
    ) -> Vec<Entry> {
        let there = self.entries.iter().filter(|entry| !entry.is_gone);
        let mut found: Vec<Entry> = there.filter(|entry| filter(entry)).cloned().collect();
        if self.order != Order::User {
            found.sort_by(|one, other| self.compare(one, other));
        }
        let order = self.order;
        found.sort_by_key(|entry| sort.value(entry, order));
        if is_reversed {
            found.reverse();
        }
        found
    }

    /// The number of entries of a query that are before a place, which itself is not counted.
    pub fn before(&self, found: &[Entry], anchor: &Anchor, sort: Sort, is_reversed: bool) -> usize {
        let is_before = |entry: &&Entry| {
            let value = sort.value(entry, self.order);
            let order = value.cmp(&anchor.value);
            let order = order.then_with(|| self.compare(entry, &anchor.entry));
            match is_reversed {
                true => order == Ordering::Greater,
                false => order == Ordering::Less,
            }
        };
        found.iter().filter(is_before).count()
    }

    pub fn anchor(&self, entry: &Entry, sort: Sort) -> Anchor {
        Anchor {
            value: sort.value(entry, self.order),
            entry: entry.clone(),
        }
    }
}
