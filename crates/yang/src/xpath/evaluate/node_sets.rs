//! Comparison of two node-sets (XPath 1.0 §3.4): the right one is summarised, so that each node of the left one is
//! compared with all its nodes at once.

use std::rc::Rc;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::comparison::{Comparison, Text};
use super::evaluator::{Env, GO_ON};
use super::memo::{Kept, Kind};
use super::values::{has_no_other_form, is_text_kept, resolved_type};
use super::{Evaluator, Item};
use crate::instances::Instances;
use crate::schema::NodeId;
use crate::xpath::Expr;

/// The summary of the nodes on the right-hand side.
pub(super) enum Others<T: Instances> {
    /// For order comparisons: the least and the greatest number, if there is one.
    Numbers(Option<(f64, f64)>),
    /// For equality: by schema node (`None` for nodes compared as they are), one of the nodes and all their texts.
    Texts(SmallVec<[Alike<T>; 1]>),
}

impl<T: Instances> Others<T> {
    /// The number of texts.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Numbers(_) => 0,
            Self::Texts(all) => all.iter().map(|alike| alike.texts.len()).sum(),
        }
    }
}

impl Kind {
    /// The summary that a comparison needs.
    fn of(comparison: Comparison) -> Self {
        match comparison.is_of_order() {
            true => Self::Numbers,
            false => Self::Texts,
        }
    }
}

/// Nodes whose texts are compared in the same way.
pub(super) struct Alike<T: Instances> {
    node: Option<NodeId>,
    example: Item<T>,
    texts: FxHashSet<Box<str>>,
}

impl<T: Instances> Evaluator<'_, T> {
    pub(super) fn compare_node_sets(
        &self,
        comparison: Comparison,
        left: &Expr,
        right: &Expr,
        env: &Env<'_, T>,
    ) -> Result<bool, T::Error> {
        if let Some(kept) = self.kept_others(comparison, left, env)?
            && let Some(holds) = self.compare_kept(comparison, &kept, right, env)?
        {
            return Ok(holds);
        }
        self.weighed(left, || {
            let mut others: Option<Rc<Others<T>>> = None;
            self.any(left, env, &mut |item| {
                let others = match &mut others {
                    Some(others) => others,
                    none => none.insert(self.others(comparison, right, env)?),
                };
                self.compares(comparison, item, others)
            })
        })
    }

    /// Returns whether a node compares with one of the nodes on the right.
    fn compares(
        &self,
        comparison: Comparison,
        item: &Item<T>,
        others: &Others<T>,
    ) -> Result<bool, T::Error> {
        match others {
            Others::Numbers(None) => Ok(false),
            Others::Numbers(Some((least, most))) => {
                let own = self.number_of(item)?;
                Ok(comparison.numbers(own, *least) || comparison.numbers(own, *most))
            }
            Others::Texts(all) => {
                let text = self.string_of(item)?;
                let mut any = all.iter();
                Ok(any.any(|alike| self.compares_with_one(comparison, &text, alike)))
            }
        }
    }

    /// The summary of an expression that many context nodes share; `None` if they do not, or if it is cheap.
    pub(super) fn kept_others(
        &self,
        comparison: Comparison,
        nodes: &Expr,
        env: &Env<'_, T>,
    ) -> Result<Option<Rc<Others<T>>>, T::Error> {
        let kind = Kind::of(comparison);
        if kind == Kind::Numbers
            && let Some(extremes) = self.indexed_extremes(nodes, env)?
        {
            return Ok(Some(Rc::new(Others::Numbers(extremes))));
        }
        let kept = self.kept_summary(kind, nodes, env, || self.read_others(kind, nodes, env))?;
        Ok(match kept {
            Some(Kept::Others(others)) => Some(others),
            _ => None,
        })
    }

    /// Compares two summarised node-sets. `None` if the text of the left must be converted to the canonical form of a
    /// type on the right.
    fn compare_kept(
        &self,
        comparison: Comparison,
        left: &Others<T>,
        right: &Expr,
        env: &Env<'_, T>,
    ) -> Result<Option<bool>, T::Error> {
        let mut is_known = true;
        let holds = self.any(right, env, &mut |item| match left {
            Others::Numbers(_) => self.compares(comparison.exchanged(), item, left),
            Others::Texts(all) => {
                if !all
                    .iter()
                    .all(|alike| self.keeps_text(&alike.example, item))
                {
                    is_known = false;
                    return Ok(true);
                }
                let text = self.string_of(item)?;
                Ok(all.iter().any(|alike| match comparison {
                    Comparison::Equal => alike.texts.contains(&text),
                    _ => alike.texts.iter().take(2).any(|other| *other != text),
                }))
            }
        })?;
        Ok(is_known.then_some(holds))
    }

    /// Returns whether texts of nodes like one on the left need no conversion to the canonical form of the right
    /// one's type.
    fn keeps_text(&self, left: &Item<T>, right: &Item<T>) -> bool {
        let type_of = |item: &Item<T>| match item {
            Item::Leaf(leaf) => self.schema().node(leaf.node).as_value(),
            _ => None,
        };
        let Some(right) = type_of(right).map(|node| resolved_type(&node.value_type)) else {
            return true;
        };
        match type_of(left) {
            Some(left) => is_text_kept(resolved_type(&left.value_type), right),
            None => has_no_other_form(right),
        }
    }

    /// The summary of the nodes of an expression.
    fn others(
        &self,
        comparison: Comparison,
        nodes: &Expr,
        env: &Env<'_, T>,
    ) -> Result<Rc<Others<T>>, T::Error> {
        let kind = Kind::of(comparison);
        let kept = self.kept(kind, nodes, env, || self.read_others(kind, nodes, env))?;
        Ok(match kept {
            Kept::Others(others) => others,
            _ => Rc::new(Others::Numbers(None)),
        })
    }

    fn read_others(&self, kind: Kind, nodes: &Expr, env: &Env<'_, T>) -> Result<Kept<T>, T::Error> {
        let others = match kind {
            Kind::Numbers => Others::Numbers(self.extremes(nodes, env)?),
            _ => self.texts(nodes, env)?,
        };
        Ok(Kept::Others(Rc::new(others)))
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
            Ok(GO_ON)
        })?;
        Ok(found)
    }

    fn texts(&self, nodes: &Expr, env: &Env<'_, T>) -> Result<Others<T>, T::Error> {
        let mut all: SmallVec<[Alike<T>; 1]> = SmallVec::new();
        let _ = self.stream(nodes, env, &mut |item| {
            let text = self.string_of(&item)?;
            let node = match &item {
                Item::Leaf(leaf) => Some(leaf.node),
                _ => None,
            };
            match all.iter_mut().find(|alike| alike.node == node) {
                Some(alike) => drop(alike.texts.insert(text)),
                None => all.push(Alike {
                    node,
                    example: item,
                    texts: FxHashSet::from_iter([text]),
                }),
            }
            Ok(GO_ON)
        })?;
        Ok(Others::Texts(all))
    }

    /// Returns whether a number compares with a node of a set with known extremes.
    pub(super) fn compare_number(
        &self,
        comparison: Comparison,
        nodes: &Others<T>,
        number: f64,
    ) -> bool {
        match nodes {
            Others::Numbers(Some((least, most))) => {
                comparison.numbers(*least, number) || comparison.numbers(*most, number)
            }
            _ => false,
        }
    }

    /// Returns whether a node of a set has a text, or its canonical form in the node's type.
    pub(super) fn have_text(&self, nodes: &Others<T>, text: Text<'_>) -> bool {
        let Others::Texts(all) = nodes else {
            return false;
        };
        all.iter().any(|alike| {
            let has = |text: &str| alike.texts.contains(text);
            has(text.text())
                || self
                    .canonical(&alike.example, text)
                    .is_some_and(|text| has(&text))
        })
    }

    /// Returns whether a text compares with one of the nodes.
    fn compares_with_one(&self, comparison: Comparison, text: &str, others: &Alike<T>) -> bool {
        let canonical = self.canonical(&others.example, Text::plain(text));
        let canonical = canonical.as_deref().unwrap_or(text);
        let texts = &others.texts;
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
