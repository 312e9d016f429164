//! All axes except `child` (XPath 1.0 §2.2). Forward axes visit nodes in document order, reverse axes in reverse
//! document order, so that the n-th node has position n.

use std::ops::ControlFlow;

use super::evaluator::{CONTINUE, STOP, Visitor};
use super::schema_matches::SchemaMatches;
use super::{Evaluator, Item};
use crate::instances::{Indexed, Instances, Side, Visit};
use crate::schema::NodeId;
use crate::xpath::{Axis, NodeTest};

impl<T: Instances> Evaluator<'_, T> {
    /// The nodes on an axis from a node that pass a test.
    pub(super) fn axis(
        &self,
        from: &Item<T>,
        axis: Axis,
        test: &NodeTest,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        match axis {
            Axis::Child => self.children(from, test, visit),
            Axis::SelfNode => self.visit_if_passes(from.clone(), test, visit),
            Axis::Parent => match self.parent(from) {
                Some(parent) => self.visit_if_passes(parent, test, visit),
                None => Ok(CONTINUE),
            },
            Axis::Ancestor => self.ancestors(self.parent(from), test, visit),
            Axis::AncestorOrSelf => self.ancestors(Some(from.clone()), test, visit),
            Axis::Descendant => self.descendants(from, test, visit),
            Axis::DescendantOrSelf => {
                if *test != NodeTest::Text
                    && self.visit_if_passes(from.clone(), test, visit)?.is_break()
                {
                    return Ok(STOP);
                }
                self.descendants(from, test, visit)
            }
            Axis::FollowingSibling => self.siblings(from, Side::After, test, visit),
            Axis::PrecedingSibling => self.siblings(from, Side::Before, test, visit),
            Axis::Following => self.following(from, test, visit),
            Axis::Preceding => self.preceding(from, test, visit),
            Axis::Attribute | Axis::Namespace => Ok(CONTINUE),
        }
    }

    /// The parent of a node; `None` for the root.
    pub(super) fn parent(&self, of: &Item<T>) -> Option<Item<T>> {
        match of {
            Item::Inner(place) => self.data.parent(place).map(Item::Inner),
            Item::Leaf(leaf) => Some(Item::Inner(leaf.holder.clone())),
            Item::Text(leaf) => Some(Item::Leaf(leaf.clone())),
        }
    }

    /// Visits a node if it passes.
    fn visit_if_passes(
        &self,
        item: Item<T>,
        test: &NodeTest,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        self.count_visit()?;
        if self.passes(&item, test) {
            visit(item)
        } else {
            Ok(CONTINUE)
        }
    }

    fn ancestors(
        &self,
        first: Option<Item<T>>,
        test: &NodeTest,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        let mut next = first;
        while let Some(item) = next {
            next = self.parent(&item);
            if self.visit_if_passes(item, test, visit)?.is_break() {
                return Ok(STOP);
            }
        }
        Ok(CONTINUE)
    }

    /// The descendants of a node that pass a test, in document order.
    fn descendants(
        &self,
        of: &Item<T>,
        test: &NodeTest,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        self.descend(of, &self.schema_matches(test), visit)
    }

    fn descend(
        &self,
        of: &Item<T>,
        matches: &SchemaMatches,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        let place = match of {
            Item::Inner(place) => place,
            Item::Leaf(leaf) if matches!(matches, SchemaMatches::Leaves) => {
                return self.text_of(leaf, visit);
            }
            _ => return Ok(CONTINUE),
        };
        for &child in self.schema_children(self.data.node(place)) {
            if !matches.contains(child) {
                continue;
            }
            let is_match = matches.is_match(child);
            let mut instance = |item: Item<T>| {
                if is_match && visit(item.clone())?.is_break() {
                    return Ok(STOP);
                }
                self.descend(&item, matches, visit)
            };
            if self.instances(place, child, &mut instance)?.is_break() {
                return Ok(STOP);
            }
        }
        Ok(CONTINUE)
    }

    /// Every interior node at or below a node that may have a child that passes a test, in document order:
    /// `descendant-or-self::node()` before `/child::`.
    pub(super) fn places(
        &self,
        of: &Item<T>,
        matches: &SchemaMatches,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        if visit(of.clone())?.is_break() {
            return Ok(STOP);
        }
        let Item::Inner(place) = of else {
            return Ok(CONTINUE);
        };
        for &child in self.schema_children(self.data.node(place)) {
            if !matches.may_contain(self.schema().node(child)) {
                continue;
            }
            let mut below = |item: Item<T>| self.places(&item, matches, visit);
            if self.instances(place, child, &mut below)?.is_break() {
                return Ok(STOP);
            }
        }
        Ok(CONTINUE)
    }

    /// The siblings on one side of a node that pass a test, nearest first.
    fn siblings(
        &self,
        of: &Item<T>,
        side: Side,
        test: &NodeTest,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        let (Some(Item::Inner(place)), Some(own)) = (self.parent(of), self.sibling_node(of)) else {
            return Ok(CONTINUE);
        };
        let mut visit_if_passes = |item| self.visit_if_passes(item, test, visit);
        if self.may_pass(own, test)
            && self
                .entries_on(side, of, &place, own, &mut visit_if_passes)?
                .is_break()
        {
            return Ok(STOP);
        }
        let children = self.schema_children(self.data.node(&place));
        let is_other = |child: &&NodeId| **child != own;
        match side {
            Side::After => {
                for &child in children.skip_while(is_other).skip(1) {
                    if self.may_pass(child, test)
                        && self
                            .instances(&place, child, &mut visit_if_passes)?
                            .is_break()
                    {
                        return Ok(STOP);
                    }
                }
            }
            Side::Before => {
                for &child in children.rev().skip_while(is_other).skip(1) {
                    if self.may_pass(child, test)
                        && self
                            .instances_reversed(&place, child, &mut visit_if_passes)?
                            .is_break()
                    {
                        return Ok(STOP);
                    }
                }
            }
        }
        Ok(CONTINUE)
    }

    /// Returns whether instances of a schema node may pass a test.
    fn may_pass(&self, id: NodeId, test: &NodeTest) -> bool {
        match test {
            NodeTest::Name(_, name) => self.named_node(id).name == *name,
            _ => true,
        }
    }

    /// The entries of the list or leaf-list of a node on one side of it, nearest first.
    fn entries_on(
        &self,
        side: Side,
        of: &Item<T>,
        place: &T::Inner,
        own: NodeId,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        if let Some(flow) = self.entries_beside(of, own, side, visit)? {
            return Ok(flow);
        }
        match side {
            Side::Before => self.earlier_entries(of, place, own, visit),
            Side::After => self.later_entries(of, place, own, visit),
        }
    }

    /// The schema node of a node, as a child of its parent.
    fn sibling_node(&self, of: &Item<T>) -> Option<NodeId> {
        let id = match of {
            Item::Text(_) => return None,
            of => of.node(self.data)?,
        };
        Some(self.named_node(id).id)
    }

    fn later_entries(
        &self,
        of: &Item<T>,
        place: &T::Inner,
        own: NodeId,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        let mut is_behind = false;
        self.instances(place, own, &mut |item| {
            if is_behind {
                return visit(item);
            }
            is_behind = item == *of;
            Ok(CONTINUE)
        })
    }

    fn earlier_entries(
        &self,
        of: &Item<T>,
        place: &T::Inner,
        own: NodeId,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        let mut before = Vec::new();
        let _ = self.instances(place, own, &mut |item| {
            if item == *of {
                return Ok(STOP);
            }
            before.push(item);
            Ok(CONTINUE)
        })?;
        visit_reversed(before, visit)
    }

    /// The entries of its list on one side of an entry, nearest first; `None` if the storage cannot start there.
    fn entries_beside(
        &self,
        of: &Item<T>,
        list: NodeId,
        side: Side,
        visit: &mut Visitor<'_, T>,
    ) -> Result<Option<ControlFlow<()>>, T::Error> {
        let node = self.schema().node(list);
        let Some(entry) = of.as_inner().filter(|_| node.is_list()) else {
            return Ok(None);
        };
        if !self.is_in_scope(node) {
            return Ok(Some(CONTINUE));
        }
        let mut flow = CONTINUE;
        let indexed = self.data.adjacent_entries(entry, side, &mut |entry| {
            self.count_visit()?;
            flow = visit(Item::Inner(entry))?;
            Ok(flow)
        })?;
        Ok((indexed == Indexed::Yes).then_some(flow))
    }

    /// The instances of a schema node in a parent, last first.
    fn instances_reversed(
        &self,
        place: &T::Inner,
        id: NodeId,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        let mut items = Vec::new();
        let _ = self.instances(place, id, &mut |item| {
            items.push(item);
            Ok(CONTINUE)
        })?;
        visit_reversed(items, visit)
    }

    fn following(
        &self,
        from: &Item<T>,
        test: &NodeTest,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        let mut next = Some(from.clone());
        while let Some(item) = next {
            let mut subtree =
                |sibling: Item<T>| self.axis(&sibling, Axis::DescendantOrSelf, test, visit);
            if self
                .siblings(&item, Side::After, &NodeTest::Node, &mut subtree)?
                .is_break()
            {
                return Ok(STOP);
            }
            next = self.parent(&item);
        }
        Ok(CONTINUE)
    }

    fn preceding(
        &self,
        from: &Item<T>,
        test: &NodeTest,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        let mut next = Some(from.clone());
        while let Some(item) = next {
            let mut subtree = |sibling: Item<T>| {
                let mut items = Vec::new();
                let _ = self.axis(&sibling, Axis::DescendantOrSelf, test, &mut |item| {
                    items.push(item);
                    Ok(CONTINUE)
                })?;
                visit_reversed(items, visit)
            };
            if self
                .siblings(&item, Side::Before, &NodeTest::Node, &mut subtree)?
                .is_break()
            {
                return Ok(STOP);
            }
            next = self.parent(&item);
        }
        Ok(CONTINUE)
    }
}

/// Visits nodes in reverse order.
fn visit_reversed<T: Instances>(
    items: Vec<Item<T>>,
    visit: &mut Visitor<'_, T>,
) -> Visit<T::Error> {
    for item in items.into_iter().rev() {
        if visit(item)?.is_break() {
            return Ok(STOP);
        }
    }
    Ok(CONTINUE)
}
