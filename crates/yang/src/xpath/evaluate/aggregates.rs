//! Sums and extremes of a leaf over all entries of a list: `sum(../entry/leaf)`, `../entry/leaf > 5`. The storage may
//! maintain them ([`Instances::sum`], [`Instances::extremes`]), so that no entry is read.

use super::Evaluator;
use super::evaluator::{CONTINUE, Env, Extremes, STOP};
use super::string_values::number_of_value;
use crate::instances::{Instances, Sum};
use crate::schema::NodeId;
use crate::validate::{ends_in_all_entries, is_in_list};
use crate::xpath::{Expr, LocationPath};

/// The maximum integer up to which all integers are exact XPath numbers, and so are sums of them in any order.
const EXACT_MAX: u128 = 1 << 53;

/// Visits the parent of a list, the list, and a leaf in it; returns whether to continue.
type VisitList<'v, T> = dyn FnMut(&<T as Instances>::Inner, NodeId, NodeId) -> Result<bool, <T as Instances>::Error>
    + 'v;

impl<T: Instances> Evaluator<'_, T> {
    /// The sum of a path, if the storage maintains it and it is exact.
    pub(super) fn maintained_sum(
        &self,
        expr: &Expr,
        env: &Env<'_, T>,
    ) -> Result<Option<f64>, T::Error> {
        let mut sum = Sum::default();
        let is_maintained = self.each_list(expr, env, &mut |place, list, leaf| {
            let Some(more) = self.data.sum(place, list, leaf)? else {
                return Ok(false);
            };
            sum.total += more.total;
            sum.absolute = sum.absolute.saturating_add(more.absolute);
            Ok(true)
        })?;
        Ok((is_maintained && sum.absolute <= EXACT_MAX).then_some(sum.total as f64))
    }

    /// The least and the greatest number of a path, if the storage has an index of them.
    pub(super) fn indexed_extremes(
        &self,
        expr: &Expr,
        env: &Env<'_, T>,
    ) -> Result<Option<Extremes>, T::Error> {
        let mut found: Extremes = None;
        let is_maintained = self.each_list(expr, env, &mut |place, list, leaf| {
            let Some(extremes) = self.extremes_of_list(place, list, leaf)? else {
                return Ok(false);
            };
            if let Some((least, most)) = extremes {
                let (before_least, before_most) = found.unwrap_or((least, most));
                found = Some((least.min(before_least), most.max(before_most)));
            }
            Ok(true)
        })?;
        Ok(is_maintained.then_some(found))
    }

    /// The extremes of a leaf in one list; read once, because there may be many deleted values before the first
    /// remaining one.
    fn extremes_of_list(
        &self,
        place: &T::Inner,
        list: NodeId,
        leaf: NodeId,
    ) -> Result<Option<Extremes>, T::Error> {
        let key = (place.clone(), leaf);
        if let Some(known) = self.extremes.borrow().get(&key) {
            return Ok(Some(*known));
        }
        let Some(found) = self.data.extremes(place, list, leaf)? else {
            return Ok(None);
        };
        let numbers = found.map(|(least, most)| (number_of_value(&least), number_of_value(&most)));
        self.extremes.borrow_mut().insert(key, numbers);
        Ok(Some(numbers))
    }

    /// Visits the lists of a path that goes through all entries to one leaf in them, until the visitor returns false.
    /// Returns false then, or if it is no such path.
    fn each_list(
        &self,
        expr: &Expr,
        env: &Env<'_, T>,
        visit: &mut VisitList<'_, T>,
    ) -> Result<bool, T::Error> {
        let (Expr::Path(path), true) = (expr, ends_in_all_entries(expr)) else {
            return Ok(false);
        };
        let LocationPath { is_absolute, steps } = path;
        let Some((leaf_step, steps)) = steps.split_last() else {
            return Ok(false);
        };
        let Some((list_step, before)) = steps.split_last() else {
            return Ok(false);
        };
        let root = super::Item::Inner(self.data.root());
        let from = if *is_absolute { &root } else { env.item };
        let mut is_maintained = true;
        let _ = self.stream_steps(from, before, env, &mut |item| {
            let nodes = item.as_inner().and_then(|place| {
                let list = self.only_child(place, &list_step.test)?;
                let leaf = self.only_child_of(Some(list), &leaf_step.test)?;
                Some((place, list, leaf)).filter(|_| is_in_list(self.schema(), leaf))
            });
            self.count_visit()?;
            is_maintained = match nodes {
                Some((place, list, leaf)) => visit(place, list, leaf)?,
                None => false,
            };
            Ok(if is_maintained { CONTINUE } else { STOP })
        })?;
        Ok(is_maintained)
    }
}
