//! A cache of values of subexpressions, for the context nodes that share them.
//!
//! `count(../rule[a = current()/a])` has one value for all entries with one value of `a`. The first evaluation
//! computes it, the others read it from the cache, so that a list of n entries in groups of g costs n and not n times
//! g. The cache key contains the inputs of the subexpression ([`super::cache_dependencies`]).
//!
//! An evaluator reads one state of the data, so a cached value stays valid for its lifetime.

use std::cell::{Cell, RefCell};

use rustc_hash::FxHashMap;

use super::cached_values::{CachedKind, CachedValue, Inputs};
use crate::instances::Instances;
use crate::xpath::{Expr, LocationPath};

/// The maximum number of cached values and entries. Beyond it, all are dropped.
pub(super) const CACHED_MAX: usize = 1 << 18;

/// A subexpression that visits fewer nodes is evaluated again: that costs less than a cache lookup.
const STEPS_WORTH_CACHING: u64 = 12;

/// After this many steps, all nodes of a subexpression are visited for its summary only if summaries are shared.
const STEPS_WASTED_MAX: u64 = 1 << 20;

/// The address of a subexpression that outlives the evaluator.
pub(super) type ExprAddress = usize;

/// Whether values of a subexpression are cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Worth {
    /// No evaluation was expensive so far.
    #[default]
    Cheap,
    /// An evaluation was expensive.
    Expensive,
    /// Its value depends on the context node itself.
    NotShared,
}

/// The statistics of a subexpression.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ExprStatistics {
    pub(super) worth: Worth,
    /// The numbers of cache hits and misses.
    pub(super) hits: u64,
    pub(super) misses: u64,
    /// The number of nodes visited to compute cached values.
    pub(super) steps: u64,
}

impl ExprStatistics {
    /// Returns whether all nodes are visited for values that are hardly shared.
    pub(super) fn is_wasteful(&self) -> bool {
        self.steps > STEPS_WASTED_MAX && self.hits < self.misses
    }
}

/// The key of a cached value.
type Key<T> = (ExprAddress, CachedKind, Inputs<T>);

// Without it, a count over a group is computed for each of its entries: docs/decisions/0019.
/// See the module documentation.
pub(super) struct Memo<T: Instances> {
    /// Whether the evaluated expression outlives the evaluator. Subexpressions are identified by their address, which
    /// could otherwise be reused by another expression.
    pub(super) is_caching: Cell<bool>,
    /// A subexpression that visits fewer nodes is not cached.
    pub(super) steps_worth_caching: Cell<u64>,
    /// The weight of all values.
    pub(super) weight: Cell<usize>,
    pub(super) statistics: RefCell<FxHashMap<ExprAddress, ExprStatistics>>,
    pub(super) values: RefCell<FxHashMap<Key<T>, CachedValue<T>>>,
}

impl<T: Instances> Default for Memo<T> {
    fn default() -> Self {
        Self {
            is_caching: Cell::new(false),
            steps_worth_caching: Cell::new(STEPS_WORTH_CACHING),
            weight: Cell::new(0),
            statistics: RefCell::default(),
            values: RefCell::default(),
        }
    }
}

impl<T: Instances> Memo<T> {
    /// Sets the minimum number of visited nodes for caching.
    pub(super) fn cache_from(&self, steps: u64) {
        self.steps_worth_caching.set(steps);
    }

    pub(super) fn statistics_of(&self, part: &Expr) -> ExprStatistics {
        self.statistics_at(address(part))
    }

    pub(super) fn statistics_at(&self, part: ExprAddress) -> ExprStatistics {
        let statistics = self.statistics.borrow();
        statistics.get(&part).copied().unwrap_or_default()
    }

    pub(super) fn change(&self, part: ExprAddress, change: impl FnOnce(&mut ExprStatistics)) {
        change(self.statistics.borrow_mut().entry(part).or_default());
    }
}

/// The address of a path, which differs from that of the expression that begins at the same byte.
pub(super) fn path_address(path: &LocationPath) -> ExprAddress {
    std::ptr::from_ref(path) as ExprAddress | 1
}

pub(super) fn address(part: &Expr) -> ExprAddress {
    std::ptr::from_ref(part) as ExprAddress
}
