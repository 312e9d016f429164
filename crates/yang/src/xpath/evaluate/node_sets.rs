//! Two node-sets compared (XPath 1.0 §3.4): one is looked through, the other is kept so that each node of the
//! first is compared with all of it at once.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::comparison::{Comparison, Text};
use super::evaluator::{Env, GO_ON};
use super::{Evaluator, Item};
use crate::instances::Instances;
use crate::schema::NodeId;
use crate::xpath::Expr;

/// The nodes of the right-hand side.
pub(super) enum Others<T: Instances> {
    /// For comparisons of order: the least and the greatest number, if there is one.
    Numbers(Option<(f64, f64)>),
    /// For the others: by schema node (none for what is compared as it is), one of the nodes and all their texts.
    Texts(SmallVec<[Alike<T>; 1]>),
}

/// Nodes whose texts are compared alike.
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
        let mut others: Option<Others<T>> = None;
        self.any(left, env, &mut |item| {
            let others = match &mut others {
                Some(others) => others,
                none => none.insert(self.others(comparison, right, env)?),
            };
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
        })
    }

    fn others(
        &self,
        comparison: Comparison,
        nodes: &Expr,
        env: &Env<'_, T>,
    ) -> Result<Others<T>, T::Error> {
        if comparison.is_of_order() {
            let mut found: Option<(f64, f64)> = None;
            let _ = self.stream(nodes, env, &mut |item| {
                let number = self.number_of(&item)?;
                if !number.is_nan() {
                    let (least, most) = found.unwrap_or((number, number));
                    found = Some((least.min(number), most.max(number)));
                }
                Ok(GO_ON)
            })?;
            return Ok(Others::Numbers(found));
        }
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

    /// Whether a text compares with one of the nodes.
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
