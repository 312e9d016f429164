//! A cache of values of subexpressions, for the context nodes that share them.
//!
//! `count(../rule[a = current()/a])` has one value for all entries with one value of `a`. The first evaluation
//! computes it, the others read it from the cache, so that a list of n entries in groups of g costs n and not n times
//! g. The cache key contains the inputs of the subexpression ([`super::inputs`]).
//!
//! An evaluator reads one state of the data, so a cached value stays valid for its lifetime.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::evaluator::Env;
use super::inputs::Inputs;
use super::node_sets::NodeSetSummary;
use super::value_index::ValueIndex;
use super::{Evaluator, Item};
use crate::instances::Instances;
use crate::xpath::{Expr, LocationPath};

/// The maximum number of cached values and entries. Beyond it, all are dropped.
const CACHED_MAX: usize = 1 << 18;

/// A subexpression that visits fewer nodes is evaluated again: that costs less than a cache lookup.
const STEPS_WORTH_CACHING: u64 = 12;

/// After this many steps, all nodes of a subexpression are visited for its summary only if summaries are shared.
const STEPS_WASTED_MAX: u64 = 1 << 20;

/// The kind of a cached value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CachedKind {
    /// The number of nodes.
    Count,
    /// The sum of their numbers.
    Sum,
    /// Whether there is a node.
    Boolean,
    /// The first node in document order.
    First,
    /// The summary for order comparisons.
    Numbers,
    /// The summary for equality comparisons.
    Texts,
    /// The entries of a list that contains the siblings.
    Siblings,
    /// The nodes of a path by a value.
    ByValue,
}

/// A cached value; its variant corresponds to its [`CachedKind`].
pub(super) enum CachedValue<T: Instances> {
    Count(u64),
    Sum(f64),
    Boolean(bool),
    First(Option<Item<T>>),
    Summary(Rc<NodeSetSummary<T>>),
    /// `None` if their order is unknown.
    Entries(Option<Entries<T>>),
    /// `None` if an index is not possible, or not worth its cost.
    ByValue(Option<Rc<ValueIndex<T>>>),
}

impl<T: Instances> CachedValue<T> {
    /// Its share of [`CACHED_MAX`].
    fn weight(&self) -> usize {
        match self {
            Self::Summary(summary) => 1 + summary.len(),
            Self::Entries(Some(entries)) => 1 + entries.len(),
            Self::ByValue(Some(index)) => 1 + index.len(),
            _ => 1,
        }
    }
}

impl<T: Instances> Clone for CachedValue<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Count(count) => Self::Count(*count),
            Self::Sum(sum) => Self::Sum(*sum),
            Self::Boolean(boolean) => Self::Boolean(*boolean),
            Self::First(first) => Self::First(first.clone()),
            Self::Summary(summary) => Self::Summary(Rc::clone(summary)),
            Self::Entries(entries) => Self::Entries(entries.clone()),
            Self::ByValue(index) => Self::ByValue(index.clone()),
        }
    }
}

/// Entries of a list in document order.
pub(super) type Entries<T> = Rc<[<T as Instances>::Inner]>;

/// The address of a subexpression that outlives the evaluator.
pub(super) type ExprAddress = usize;

/// Whether values of a subexpression are cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Worth {
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
struct ExprStatistics {
    worth: Worth,
    /// The numbers of cache hits and misses.
    hits: u64,
    misses: u64,
    /// The number of nodes visited to compute cached values.
    steps: u64,
}

impl ExprStatistics {
    /// Returns whether all nodes are visited for values that are hardly shared.
    fn is_wasteful(&self) -> bool {
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
    is_caching: Cell<bool>,
    /// A subexpression that visits fewer nodes is not cached.
    steps_worth_caching: Cell<u64>,
    /// The weight of all values.
    weight: Cell<usize>,
    statistics: RefCell<FxHashMap<ExprAddress, ExprStatistics>>,
    values: RefCell<FxHashMap<Key<T>, CachedValue<T>>>,
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

impl<'a, T: Instances> Evaluator<'a, T> {
    /// Evaluates an expression that outlives the evaluator: values of its subexpressions are cached.
    pub(super) fn with_caching<R>(&self, _: &'a Expr, act: impl FnOnce() -> R) -> R {
        let before = self.memo.is_caching.replace(true);
        let result = act();
        self.memo.is_caching.set(before);
        result
    }

    /// Evaluates an expression that the evaluator may outlive: nothing is cached.
    pub(super) fn without_caching<R>(&self, act: impl FnOnce() -> R) -> R {
        let before = self.memo.is_caching.replace(false);
        let result = act();
        self.memo.is_caching.set(before);
        result
    }

    /// The value of a subexpression, cached if possible.
    pub(super) fn cached(
        &self,
        kind: CachedKind,
        part: &Expr,
        env: &Env<'_, T>,
        compute: impl Fn() -> Result<CachedValue<T>, T::Error>,
    ) -> Result<CachedValue<T>, T::Error> {
        if !self.is_worth_caching(part) {
            return self.measured(part, compute);
        }
        match self.inputs_of(part, env)? {
            Some(inputs) => self.shared(kind, part, inputs, &compute),
            None => compute(),
        }
    }

    /// A value of a subexpression that other context nodes may share; `None` if they do not, or if it is cheap. For
    /// values that are more expensive than one evaluation of the expression.
    pub(super) fn cached_summary(
        &self,
        kind: CachedKind,
        part: &Expr,
        env: &Env<'_, T>,
        compute: impl Fn() -> Result<CachedValue<T>, T::Error>,
    ) -> Result<Option<CachedValue<T>>, T::Error> {
        let is_wasteful = || self.memo.statistics_of(part).is_wasteful();
        if !self.is_worth_caching(part) || is_wasteful() {
            return Ok(None);
        }
        let inputs = self.inputs_of(part, env)?;
        let shared = inputs.map(|inputs| self.shared(kind, part, inputs, &compute));
        shared.transpose()
    }

    /// The value of a subexpression with these inputs.
    pub(super) fn shared(
        &self,
        kind: CachedKind,
        part: &Expr,
        inputs: Inputs<T>,
        compute: &dyn Fn() -> Result<CachedValue<T>, T::Error>,
    ) -> Result<CachedValue<T>, T::Error> {
        self.shared_at(kind, address(part), inputs, compute)
    }

    /// [`Self::shared`] of the subexpression, or the path in it, at an address.
    pub(super) fn shared_at(
        &self,
        kind: CachedKind,
        part: ExprAddress,
        inputs: Inputs<T>,
        compute: &dyn Fn() -> Result<CachedValue<T>, T::Error>,
    ) -> Result<CachedValue<T>, T::Error> {
        let key = (part, kind, inputs);
        if let Some(value) = self.memo.values.borrow().get(&key) {
            self.budget.step(1)?;
            self.memo.change(part, |part| part.hits += 1);
            return Ok(value.clone());
        }
        let before = self.budget.steps();
        let value = compute()?;
        let steps = self.budget.steps() - before;
        self.memo.change(part, |part| {
            part.misses += 1;
            part.steps += steps;
        });
        let mut values = self.memo.values.borrow_mut();
        let weight = self.memo.weight.get() + value.weight();
        if weight > CACHED_MAX {
            values.clear();
            self.memo.weight.set(value.weight());
        } else {
            self.memo.weight.set(weight);
        }
        values.insert(key, value.clone());
        Ok(value)
    }

    /// Returns whether an evaluation of a subexpression was expensive, and several context nodes may share its value.
    pub(super) fn is_worth_caching(&self, part: &Expr) -> bool {
        self.is_worth_caching_at(address(part))
    }

    /// [`Self::is_worth_caching`] of a path.
    pub(super) fn is_path_worth_caching(&self, path: &LocationPath) -> bool {
        self.is_worth_caching_at(path_address(path))
    }

    fn is_worth_caching_at(&self, part: ExprAddress) -> bool {
        self.memo.is_caching.get() && self.memo.statistics_at(part).worth == Worth::Expensive
    }

    /// Returns whether values of a subexpression are not cached because no evaluation was expensive so far.
    pub(super) fn is_cheap(&self, part: &Expr) -> bool {
        !self.memo.is_caching.get() || self.memo.statistics_of(part).worth == Worth::Cheap
    }

    /// Evaluates a subexpression and records whether that was expensive.
    pub(super) fn measured<R>(
        &self,
        part: &Expr,
        act: impl FnOnce() -> Result<R, T::Error>,
    ) -> Result<R, T::Error> {
        self.measured_at(address(part), act)
    }

    /// [`Self::measured`] of a path.
    pub(super) fn measured_path<R>(
        &self,
        path: &LocationPath,
        act: impl FnOnce() -> Result<R, T::Error>,
    ) -> Result<R, T::Error> {
        self.measured_at(path_address(path), act)
    }

    fn measured_at<R>(
        &self,
        part: ExprAddress,
        act: impl FnOnce() -> Result<R, T::Error>,
    ) -> Result<R, T::Error> {
        if !self.memo.is_caching.get() {
            return act();
        }
        let before = self.budget.steps();
        let result = act()?;
        if self.budget.steps() - before >= self.memo.steps_worth_caching.get() {
            self.memo.change(part, |part| {
                if part.worth == Worth::Cheap {
                    part.worth = Worth::Expensive;
                }
            });
        }
        Ok(result)
    }

    /// The inputs of a subexpression; `None` if it depends on the context node itself.
    fn inputs_of(&self, part: &Expr, env: &Env<'_, T>) -> Result<Option<Inputs<T>>, T::Error> {
        if !super::inputs::is_shared(part) {
            self.memo
                .change(address(part), |part| part.worth = Worth::NotShared);
            return Ok(None);
        }
        self.inputs(part, env)
    }
}

impl<T: Instances> Memo<T> {
    /// Sets the minimum number of visited nodes for caching.
    pub(super) fn cache_from(&self, steps: u64) {
        self.steps_worth_caching.set(steps);
    }

    fn statistics_of(&self, part: &Expr) -> ExprStatistics {
        self.statistics_at(address(part))
    }

    fn statistics_at(&self, part: ExprAddress) -> ExprStatistics {
        let statistics = self.statistics.borrow();
        statistics.get(&part).copied().unwrap_or_default()
    }

    fn change(&self, part: ExprAddress, change: impl FnOnce(&mut ExprStatistics)) {
        change(self.statistics.borrow_mut().entry(part).or_default());
    }
}

/// The address of a path, which differs from that of the expression that begins at the same byte.
pub(super) fn path_address(path: &LocationPath) -> ExprAddress {
    std::ptr::from_ref(path) as ExprAddress | 1
}

fn address(part: &Expr) -> ExprAddress {
    std::ptr::from_ref(part) as ExprAddress
}
