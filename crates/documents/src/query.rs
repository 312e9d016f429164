//! Queries of a collection or of an index.

use std::ops::{Bound, RangeBounds};

pub use espalier_keyspace::Direction;

use crate::Value;
use crate::value::IntoValue;

/// A selection of documents: a range of keys, an order, an offset, a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The first key.
    pub from: u64,
    /// The first key after the range.
    pub before: Option<u64>,
    /// The order.
    pub direction: Direction,
    /// The number of documents that are skipped.
    pub offset: usize,
    /// The maximum number of documents.
    pub limit: usize,
}

impl Default for Selection {
    fn default() -> Self {
        Self::all()
    }
}

impl Selection {
    /// All documents, in the order of keys.
    pub fn all() -> Self {
        Self {
            from: 0,
            before: None,
            direction: Direction::Forward,
            offset: 0,
            limit: usize::MAX,
        }
    }

    /// Reverses the order: from the largest key to the smallest.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        self.direction = Direction::Backward;
        self
    }

    /// Skips the first `offset` documents.
    #[must_use]
    pub fn offset(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    /// Limits the number of documents.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Continues after `key` in the order of the selection. A later page costs no more than the first.
    #[must_use]
    pub fn after(mut self, key: u64) -> Self {
        match self.direction {
            Direction::Forward => self.from = key.saturating_add(1),
            Direction::Backward => self.before = Some(key),
        }
        self
    }
}

/// A query of an index: a range of values, an order, an offset, a limit.
///
/// A value with fewer components than the index matches all values that begin with it: `Query::value("red")`
/// in an index of colour and year matches red ones of every year.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub(crate) from: Bound<Value>,
    pub(crate) to: Bound<Value>,
    pub(crate) after: Option<(Value, u64)>,
    pub(crate) direction: Direction,
    pub(crate) offset: usize,
    pub(crate) limit: usize,
    pub(crate) is_always_empty: bool,
}

impl Query {
    /// All entries, ordered by value, then by key.
    pub fn all() -> Self {
        Self::between(Bound::Unbounded, Bound::Unbounded)
    }

    /// The entries with this value; none for `None`.
    pub fn value(value: impl IntoValue) -> Self {
        match value.into_value() {
            Some(value) => Self::between(Bound::Included(value.clone()), Bound::Included(value)),
            None => Self {
                is_always_empty: true,
                ..Self::all()
            },
        }
    }

    /// The entries with a value in a range: `Query::range(2000..2010)`, `Query::range("a".."b")`.
    pub fn range<V: IntoValue + Clone>(range: impl RangeBounds<V>) -> Self {
        let bound = |bound: Bound<&V>| match bound {
            Bound::Included(value) => value.clone().into_value().map(Bound::Included),
            Bound::Excluded(value) => value.clone().into_value().map(Bound::Excluded),
            Bound::Unbounded => Some(Bound::Unbounded),
        };
        match (bound(range.start_bound()), bound(range.end_bound())) {
            (Some(from), Some(to)) => Self::between(from, to),
            _ => Self::value(None::<Value>),
        }
    }

    /// The entries between two bounds.
    pub fn between(from: Bound<Value>, to: Bound<Value>) -> Self {
        Self {
            from,
            to,
            after: None,
            direction: Direction::Forward,
            offset: 0,
            limit: usize::MAX,
            is_always_empty: false,
        }
    }

    /// Reverses the order: from the largest value to the smallest.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        self.direction = Direction::Backward;
        self
    }

    /// Skips the first `offset` entries.
    #[must_use]
    pub fn offset(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    /// Limits the number of entries.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Continues after this value and key in the order of the query.
    #[must_use]
    pub fn after(mut self, value: Value, key: u64) -> Self {
        self.after = Some((value, key));
        self
    }

    /// The value, if the query is for one value (or what begins with it).
    pub(crate) fn equal(&self) -> Option<&Value> {
        match (&self.from, &self.to) {
            (Bound::Included(from), Bound::Included(to)) if from == to => Some(from),
            _ => None,
        }
    }

    /// The value, if the query is for all entries of one value (or what begins with it), in ascending order.
    pub(crate) fn unlimited_value(&self) -> Option<&Value> {
        let is_all = self.after.is_none()
            && self.direction == Direction::Forward
            && self.offset == 0
            && self.limit == usize::MAX
            && !self.is_always_empty;
        self.equal().filter(|_| is_all)
    }

    /// Whether an entry matches the query.
    pub(crate) fn matches(&self, full: &[u8], key: u64) -> bool {
        let is_after_start = match &self.from {
            Bound::Included(from) => full >= from.full(),
            Bound::Excluded(from) => full > from.full() && !full.starts_with(from.full()),
            Bound::Unbounded => true,
        };
        let is_before_end = match &self.to {
            Bound::Included(to) => full < to.full() || full.starts_with(to.full()),
            Bound::Excluded(to) => full < to.full(),
            Bound::Unbounded => true,
        };
        is_after_start && is_before_end && self.is_after(full, key)
    }

    fn is_after(&self, full: &[u8], key: u64) -> bool {
        self.after.as_ref().is_none_or(|(value, last)| {
            let last = (value.full(), *last);
            match self.direction {
                Direction::Forward => (full, key) > last,
                Direction::Backward => (full, key) < last,
            }
        })
    }

    /// The number of entries to find, including those that are skipped.
    pub(crate) fn entries_needed(&self) -> usize {
        self.offset.saturating_add(self.limit)
    }
}

/// A value is a query for that value.
impl<V: IntoValue> From<V> for Query {
    fn from(value: V) -> Self {
        Self::value(value)
    }
}
