//! The accessible tree (RFC 7950 §6.4.1): stored nodes, containers without presence, and defaults in use (§7.6.1,
//! §7.7.2).
//!
//! Stored nodes exist: validation checks their `when`. A node that is not stored exists if its parent does, its case is
//! selected, and every `when` above it is true.

use std::ops::ControlFlow;

use smallvec::SmallVec;

use super::evaluator::{CONTINUE, Env, STOP};
use super::{Evaluator, Item, Leaf, Scope};
use crate::instances::{Instances, Visit};
use crate::schema::{CaseChoice, Constraint, NodeId, NodeKind};
use crate::value::Value;

impl<'a, T: Instances> Evaluator<'a, T> {
    /// The value of a leaf, and whether it is a default in use.
    pub fn leaf(&self, holder: &T::Inner, leaf: NodeId) -> Result<Option<(Value, bool)>, T::Error> {
        match self.leaf_in(holder, leaf)? {
            Some((_, true)) if !self.is_accessible(holder)? => Ok(None),
            found => Ok(found),
        }
    }

    /// The values of a leaf-list, in order, each with whether it is a default in use.
    pub fn values(
        &self,
        holder: &T::Inner,
        leaf_list: NodeId,
        visit: &mut dyn FnMut(Value, bool) -> Visit<T::Error>,
    ) -> Result<(), T::Error> {
        let mut is_default_checked = false;
        let mut checked = |value, is_default| {
            if is_default && !is_default_checked {
                is_default_checked = true;
                if !self.is_accessible(holder)? {
                    return Ok(STOP);
                }
            }
            visit(value, is_default)
        };
        let _ = self.values_in(holder, leaf_list, &mut checked)?;
        Ok(())
    }

    /// A container, if it exists: stored, or without presence and accessible.
    pub fn container(
        &self,
        holder: &T::Inner,
        container: NodeId,
    ) -> Result<Option<T::Inner>, T::Error> {
        let place = self.data.container(holder, container);
        Ok(self.is_accessible(&place)?.then_some(place))
    }

    /// Returns whether a node exists: it is stored, or a container without presence whose parent exists. The root
    /// exists, and so does the given operation or notification.
    pub fn is_accessible(&self, place: &T::Inner) -> Result<bool, T::Error> {
        let Some(node) = self.data.node(place) else {
            return Ok(true);
        };
        match &self.schema().node(node).kind {
            NodeKind::Input | NodeKind::Output | NodeKind::Notification => return Ok(true),
            NodeKind::Container { presence: false } => {}
            _ => return self.data.is_stored(place),
        }
        if self.data.is_stored(place)? {
            return Ok(true);
        }
        let Some(parent) = self.data.parent(place) else {
            return Ok(true);
        };
        Ok(self.is_accessible(&parent)? && self.is_in_use(&parent, node)?)
    }

    /// The case of a choice that has a stored node, if any.
    pub fn case_of(&self, holder: &T::Inner, choice: u32) -> Result<Option<u32>, T::Error> {
        let schema = self.schema();
        let siblings = match self.data.node(holder) {
            Some(parent) => &schema.node(parent).children[..],
            None => schema.roots(),
        };
        for &sibling in siblings {
            let cases = &schema.node(sibling).cases;
            let case = cases.iter().find(|case| case.choice == choice);
            if let Some(case) = case
                && self.has_stored(holder, sibling)?
            {
                return Ok(Some(case.case));
            }
        }
        Ok(None)
    }

    /// Returns whether a `when` is true for an instance of a node, existing or not. The context node is a dummy
    /// without value and children in its position (RFC 7950 §7.21.5), or its ancestor
    /// [`Constraint::context_levels_up`] levels up.
    pub fn when(
        &self,
        when: &'a Constraint,
        holder: &T::Inner,
        node: NodeId,
    ) -> Result<bool, T::Error> {
        let context = self.context_of(when.context_levels_up, holder, node);
        let root = &when.expression.root;
        self.with_caching(root, || {
            self.budget.run(|| self.boolean(root, &Env::at(&context)))
        })
    }

    /// The ancestor of an instance of a node this many levels up; a dummy for the instance itself.
    fn context_of(&self, levels_up: u8, holder: &T::Inner, node: NodeId) -> Item<T> {
        if levels_up == 0 {
            let dummy = Leaf::stored(holder.clone(), node, Value::Empty);
            return Item::Leaf(dummy);
        }
        let schema = self.schema();
        let mut place = holder.clone();
        let mut above = schema.node(node).parent;
        for _ in 1..levels_up {
            above = above.and_then(|above| schema.node(above).parent);
            let kind = above.map(|above| &schema.node(above).kind);
            // The input of an operation and the operation are one node.
            if !matches!(kind, Some(NodeKind::Rpc | NodeKind::Action)) {
                place = self.data.parent(&place).unwrap_or(place);
            }
        }
        Item::Inner(place)
    }

    /// [`Self::leaf`] in an existing parent.
    pub(super) fn leaf_in(
        &self,
        holder: &T::Inner,
        leaf: NodeId,
    ) -> Result<Option<(Value, bool)>, T::Error> {
        if let Some(value) = self.data.leaf(holder, leaf)? {
            return Ok(Some((value, false)));
        }
        let Some(node) = self.schema().node(leaf).as_value() else {
            return Ok(None);
        };
        match node.defaults.first() {
            Some(default) if !node.is_key && self.is_in_use(holder, leaf)? => {
                Ok(Some((default.clone(), true)))
            }
            _ => Ok(None),
        }
    }

    /// [`Self::values`] in an existing parent.
    pub(super) fn values_in(
        &self,
        holder: &T::Inner,
        leaf_list: NodeId,
        visit: &mut dyn FnMut(Value, bool) -> Visit<T::Error>,
    ) -> Visit<T::Error> {
        let mut is_stored = false;
        let mut flow = CONTINUE;
        self.data.values(holder, leaf_list, &mut |value| {
            is_stored = true;
            flow = visit(value, false)?;
            Ok(flow)
        })?;
        if is_stored {
            return Ok(flow);
        }
        for default in self.defaults_in(holder, leaf_list)? {
            if visit(default.clone(), true)?.is_break() {
                return Ok(STOP);
            }
        }
        Ok(CONTINUE)
    }

    /// The defaults of a leaf-list that has no stored values in an existing parent, in its order.
    pub(super) fn defaults_in(
        &self,
        holder: &T::Inner,
        leaf_list: NodeId,
    ) -> Result<SmallVec<[&Value; 4]>, T::Error> {
        let node = self.schema().node(leaf_list);
        match node.as_value() {
            Some(value) if !value.defaults.is_empty() && self.is_in_use(holder, leaf_list)? => {
                let mut defaults: SmallVec<[&Value; 4]> = value.defaults.iter().collect();
                if !node.is_positional() {
                    defaults.sort_by(|left, right| left.compare(right));
                }
                Ok(defaults)
            }
            _ => Ok(SmallVec::new()),
        }
    }

    /// Returns whether a container in an existing parent exists.
    pub(super) fn is_container_in(
        &self,
        holder: &T::Inner,
        place: &T::Inner,
        container: NodeId,
    ) -> Result<bool, T::Error> {
        let node = self.schema().node(container);
        if !node.is_np_container() {
            return self.data.is_stored(place);
        }
        let is_unconditional =
            node.cases.is_empty() && node.whens.is_empty() && self.scope != Scope::Stored;
        Ok(is_unconditional || self.data.is_stored(place)? || self.is_in_use(holder, container)?)
    }

    /// Returns whether a node in an existing parent would exist without being stored: its case is selected, and its
    /// `when`s are true. In [`Scope::Stored`] no node does.
    pub fn is_in_use(&self, holder: &T::Inner, node: NodeId) -> Result<bool, T::Error> {
        if self.scope == Scope::Stored {
            return Ok(false);
        }
        if let Some(decided) = self.data.is_in_use(holder, node) {
            return decided;
        }
        let schema_node = self.schema().node(node);
        for case in &schema_node.cases {
            if !self.is_selected(holder, case)? {
                return Ok(false);
            }
        }
        for when in &schema_node.whens {
            if !self.when(when, holder, node)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether a case is selected: another node of it exists, or it is the default case and no node of
    /// another case exists.
    fn is_selected(&self, holder: &T::Inner, case: &CaseChoice) -> Result<bool, T::Error> {
        let selected = self.case_of(holder, case.choice)?;
        let selected = selected.or(self.schema().choices()[case.choice as usize].default_case);
        Ok(selected == Some(case.case))
    }

    /// Returns whether any instance of a node is stored.
    fn has_stored(&self, holder: &T::Inner, node: NodeId) -> Result<bool, T::Error> {
        let mut is_found = false;
        match &self.schema().node(node).kind {
            NodeKind::Leaf(_) | NodeKind::AnyData | NodeKind::AnyXml => {
                is_found = self.data.leaf(holder, node)?.is_some();
            }
            NodeKind::Container { .. } => {
                is_found = self.data.is_stored(&self.data.container(holder, node))?;
            }
            NodeKind::List(_) => self.data.entries(holder, node, &mut |_| {
                is_found = true;
                Ok(ControlFlow::Break(()))
            })?,
            NodeKind::LeafList(_) => self.data.values(holder, node, &mut |_| {
                is_found = true;
                Ok(ControlFlow::Break(()))
            })?,
            _ => {}
        }
        Ok(is_found)
    }
}
