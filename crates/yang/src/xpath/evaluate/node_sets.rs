//! Comparison of two node-sets (XPath 1.0 §3.4): the right one is summarised, so that each node of the left one is
//! compared with all its nodes at once.

use std::rc::Rc;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::cached_values::{CachedKind, CachedValue, NodeSetSummary, TextGroup};
use super::comparison::{Comparison, Text};
use super::evaluator::{CONTINUE, Env};
use super::string_values::{is_always_canonical, preserves_text, resolved_type};
use super::{Evaluator, Item};
use crate::instances::Instances;
use crate::xpath::Expr;

impl CachedKind {
    /// The summary that a comparison needs.
    fn of(comparison: Comparison) -> Self {
        match comparison.is_ordering() {
            true => Self::Numbers,
            false => Self::Texts,
        }
    }
}

impl<T: Instances> Evaluator<'_, T> {
    pub(super) fn compare_node_sets(
        &self,
        comparison: Comparison,
        left: &Expr,
        right: &Expr,
        env: &Env<'_, T>,
    ) -> Result<bool, T::Error> {
        if let Some(cached) = self.cached_node_set_summary(comparison, left, env)?
            && let Some(holds) = self.compare_summary(comparison, &cached, right, env)?
        {
            return Ok(holds);
        }
        self.measured(left, || {
            let mut summary: Option<Rc<NodeSetSummary<T>>> = None;
            self.any(left, env, &mut |item| {
                let summary = match &mut summary {
                    Some(summary) => summary,
                    none => none.insert(self.summary(comparison, right, env)?),
                };
                self.compares(comparison, item, summary)
            })
        })
    }

    /// Returns whether a node compares with one of the nodes on the right.
    fn compares(
        &self,
        comparison: Comparison,
        item: &Item<T>,
        summary: &NodeSetSummary<T>,
    ) -> Result<bool, T::Error> {
        match summary {
            NodeSetSummary::Numbers(None) => Ok(false),
            NodeSetSummary::Numbers(Some((least, most))) => {
                let own = self.number_of(item)?;
                Ok(comparison.numbers(own, *least) || comparison.numbers(own, *most))
            }
            NodeSetSummary::Texts(all) => {
                let text = self.string_of(item)?;
                let mut any = all.iter();
                Ok(any.any(|group| self.compares_with_one(comparison, &text, group)))
            }
        }
    }

    /// The summary of an expression that many context nodes share; `None` if they do not, or if it is cheap.
    pub(super) fn cached_node_set_summary(
        &self,
        comparison: Comparison,
        nodes: &Expr,
        env: &Env<'_, T>,
    ) -> Result<Option<Rc<NodeSetSummary<T>>>, T::Error> {
        let kind = CachedKind::of(comparison);
        if kind == CachedKind::Numbers
            && let Some(extremes) = self.indexed_extremes(nodes, env)?
        {
            return Ok(Some(Rc::new(NodeSetSummary::Numbers(extremes))));
        }
        let cached =
            self.cached_summary(kind, nodes, env, || self.compute_summary(kind, nodes, env))?;
        Ok(match cached {
            Some(CachedValue::Summary(summary)) => Some(summary),
            _ => None,
        })
    }

    /// Compares two summarised node-sets. `None` if the text of the left must be converted to the canonical form of a
    /// type on the right.
    fn compare_summary(
        &self,
        comparison: Comparison,
        left: &NodeSetSummary<T>,
        right: &Expr,
        env: &Env<'_, T>,
    ) -> Result<Option<bool>, T::Error> {
        let mut is_decided = true;
        let holds = self.any(right, env, &mut |item| match left {
            NodeSetSummary::Numbers(_) => self.compares(comparison.swapped(), item, left),
            NodeSetSummary::Texts(all) => {
                if !all
                    .iter()
                    .all(|group| self.needs_no_conversion(&group.example, item))
                {
                    is_decided = false;
                    return Ok(true);
                }
                let text = self.string_of(item)?;
                Ok(all.iter().any(|group| match comparison {
                    Comparison::Equal => group.texts.contains(&text),
                    _ => group.texts.iter().take(2).any(|other| *other != text),
                }))
            }
        })?;
        Ok(is_decided.then_some(holds))
    }

    /// Returns whether texts of nodes like one on the left need no conversion to the canonical form of the right
    /// one's type.
    pub(super) fn needs_no_conversion(&self, left: &Item<T>, right: &Item<T>) -> bool {
        let type_of = |item: &Item<T>| match item {
            Item::Leaf(leaf) => self.schema().node(leaf.node).as_value(),
            _ => None,
        };
        let Some(right) = type_of(right).map(|node| resolved_type(&node.value_type)) else {
            return true;
        };
        match type_of(left) {
            Some(left) => preserves_text(resolved_type(&left.value_type), right),
            None => is_always_canonical(right),
        }
    }

    /// The summary of the nodes of an expression.
    fn summary(
        &self,
        comparison: Comparison,
        nodes: &Expr,
        env: &Env<'_, T>,
    ) -> Result<Rc<NodeSetSummary<T>>, T::Error> {
        let kind = CachedKind::of(comparison);
        let cached = self.cached(kind, nodes, env, || self.compute_summary(kind, nodes, env))?;
        Ok(match cached {
            CachedValue::Summary(summary) => summary,
            _ => Rc::new(NodeSetSummary::Numbers(None)),
        })
    }

    fn compute_summary(
        &self,
        kind: CachedKind,
        nodes: &Expr,
        env: &Env<'_, T>,
    ) -> Result<CachedValue<T>, T::Error> {
        let summary = match kind {
            CachedKind::Numbers => NodeSetSummary::Numbers(self.extremes(nodes, env)?),
            _ => self.texts(nodes, env)?,
        };
        Ok(CachedValue::Summary(Rc::new(summary)))
    }

    /// The least and the greatest number of nodes, if one is a number.
    fn extremes(&self, nodes: &Expr, env: &Env<'_, T>) -> Result<Option<(f64, f64)>, T::Error> {
        if let Some(found) = self.indexed_extremes(nodes, env)? {
            return Ok(found);
        }
        let mut found: Option<(f64, f64)> = None;
        let _ = self.stream(nodes, env, &mut |item| {
            let number = self.number_of(&item)?;
            if !number.is_nan() {
                let (least, most) = found.unwrap_or((number, number));
                found = Some((least.min(number), most.max(number)));
            }
            Ok(CONTINUE)
        })?;
        Ok(found)
    }

    fn texts(&self, nodes: &Expr, env: &Env<'_, T>) -> Result<NodeSetSummary<T>, T::Error> {
        let mut all: SmallVec<[TextGroup<T>; 1]> = SmallVec::new();
        let _ = self.stream(nodes, env, &mut |item| {
            let text = self.string_of(&item)?;
            let node = match &item {
                Item::Leaf(leaf) => Some(leaf.node),
                _ => None,
            };
            match all.iter_mut().find(|group| group.node == node) {
                Some(group) => drop(group.texts.insert(text)),
                None => all.push(TextGroup {
                    node,
                    example: item,
                    texts: FxHashSet::from_iter([text]),
                }),
            }
            Ok(CONTINUE)
        })?;
        Ok(NodeSetSummary::Texts(all))
    }

    /// Returns whether a number compares with a node of a set with known extremes.
    pub(super) fn compare_number(
        &self,
        comparison: Comparison,
        nodes: &NodeSetSummary<T>,
        number: f64,
    ) -> bool {
        match nodes {
            NodeSetSummary::Numbers(Some((least, most))) => {
                comparison.numbers(*least, number) || comparison.numbers(*most, number)
            }
            _ => false,
        }
    }

    /// Returns whether a node of a set has a text, or its canonical form in the node's type.
    pub(super) fn have_text(&self, nodes: &NodeSetSummary<T>, text: Text<'_>) -> bool {
        let NodeSetSummary::Texts(all) = nodes else {
            return false;
        };
        all.iter().any(|group| {
            let has = |text: &str| group.texts.contains(text);
            has(text.text())
                || self
                    .canonical(&group.example, text)
                    .is_some_and(|text| has(&text))
        })
    }

    /// Returns whether a text compares with one of the nodes.
    fn compares_with_one(
        &self,
        comparison: Comparison,
        text: &str,
        summary: &TextGroup<T>,
    ) -> bool {
        let canonical = self.canonical(&summary.example, Text::plain(text));
        let canonical = canonical.as_deref().unwrap_or(text);
        let texts = &summary.texts;
        match comparison {
            Comparison::Equal => texts.contains(text) || texts.contains(canonical),
            // Of three texts, at most two are equal.
            _ => {
                let mut some = texts.iter().take(3);
                some.any(|other| **other != *text && **other != *canonical)
            }
        }
    }
}
