//! Evaluation with a cache of values of subexpressions ([`super::value_cache`]).

use super::Evaluator;
use super::cached_values::{CachedKind, CachedValue, Inputs};
use super::evaluator::Env;
use super::value_cache::{CACHED_MAX, ExprAddress, Worth, address, path_address};
use crate::instances::Instances;
use crate::xpath::{Expr, LocationPath};

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
        if !super::cache_dependencies::is_shared(part) {
            self.memo
                .change(address(part), |part| part.worth = Worth::NotShared);
            return Ok(None);
        }
        self.inputs(part, env)
    }
}
