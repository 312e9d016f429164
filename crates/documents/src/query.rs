//! What is asked of a collection or of an index.

use std::ops::{Bound, RangeBounds};

pub use espalier_keyspace::Direction;

use crate::Value;
use crate::value::IntoValue;

/// Which documents of a collection: a range of keys, an order, an offset, a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The first key.
    pub from: u64,
    /// The first key after the last.
    pub before: Option<u64>,
    /// The order.
    pub direction: Direction,
    /// How many are passed over.
    pub offset: usize,
    /// The most that are taken.
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

    /// The same, from the largest key to the smallest.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        self.direction = Direction::Backward;
        self
    }

    /// The same without the first `offset`.
    #[must_use]
    pub fn offset(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    /// The same with `limit` at most.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Those that come after `key` in the order of the selection. Costs no more for a later page.
    #[must_use]
    pub fn after(mut self, key: u64) -> Self {
        match self.direction {
            Direction::Forward => self.from = key.saturating_add(1),
            Direction::Backward => self.before = Some(key),
        }
        self
    }
}

/// Which entries of an index: a range of values, an order, an offset, a limit.
///
/// Where a value has fewer components than those of the index, it stands for all that begin with
/// it: `Query::value("red")` in an index of colour and year finds red ones of every year.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub(crate) from: Bound<Value>,
    pub(crate) to: Bound<Value>,
    pub(crate) after: Option<(Value, u64)>,
    pub(crate) direction: Direction,
    pub(crate) offset: usize,
    pub(crate) limit: usize,
    pub(crate) is_nothing: bool,
}

impl Query {
    /// Everything in the index, in the order of values, then keys.
    pub fn all() -> Self {
        Self::between(Bound::Unbounded, Bound::Unbounded)
    }

    /// What has this value; nothing for `None`.
    pub fn value(value: impl IntoValue) -> Self {
        match value.into_value() {
            Some(value) => Self::between(Bound::Included(value.clone()), Bound::Included(value)),
            None => Self {
                is_nothing: true,
                ..Self::all()
            },
        }
    }

    /// What has a value in a range: `Query::range(2000..2010)`, `Query::range("a".."b")`.
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

    /// What lies between two bounds.
    pub fn between(from: Bound<Value>, to: Bound<Value>) -> Self {
        Self {
            from,
            to,
            after: None,
            direction: Direction::Forward,
            offset: 0,
            limit: usize::MAX,
            is_nothing: false,
        }
    }

    /// The same, from the largest value to the smallest.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        self.direction = Direction::Backward;
        self
    }

    /// The same without the first `offset`.
    #[must_use]
    pub fn offset(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    /// The same with `limit` at most.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// What comes after this value and key in the order of the query.
    #[must_use]
    pub fn after(mut self, value: Value, key: u64) -> Self {
        self.after = Some((value, key));
        self
    }

    /// The value, where exactly one (or what begins with it) is asked for.
    pub(crate) fn equal(&self) -> Option<&Value> {
        match (&self.from, &self.to) {
            (Bound::Included(from), Bound::Included(to)) if from == to => Some(from),
            _ => None,
        }
    }

    /// The value, where all that has exactly one (or begins with it) is asked for, in order.
    pub(crate) fn whole(&self) -> Option<&Value> {
        let is_all = self.after.is_none()
            && self.direction == Direction::Forward
            && self.offset == 0
            && self.limit == usize::MAX
            && !self.is_nothing;
        self.equal().filter(|_| is_all)
    }

    /// Whether an entry is asked for.
    pub(crate) fn admits(&self, full: &[u8], key: u64) -> bool {
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

    /// How many entries have to be found, those that are passed over included.
    pub(crate) fn wanted(&self) -> usize {
        self.offset.saturating_add(self.limit)
    }
}

/// A value stands for itself.
impl<V: IntoValue> From<V> for Query {
    fn from(value: V) -> Self {
        Self::value(value)
    }
}
