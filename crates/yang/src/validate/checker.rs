//! Checks one rule at one instance.

use std::ops::ControlFlow;

use super::plan::{Rule, RuleId, RuleKind, ValidationPlan};
use crate::error::{DataError, ErrorTag, Errors};
use crate::instances::{Instances, Visit};
use crate::path::{InstancePath, Keys};
use crate::schema::{Constraint, Node, NodeId, NodeKind, Schema};
use crate::value::Value;
use crate::xpath::evaluate::{Evaluator, Item, Limits, Scope};

/// Checks rules in one state of the data, and collects violations.
pub(crate) struct Checker<'a, T: Instances> {
    pub data: &'a T,
    pub plan: &'a ValidationPlan,
    pub evaluator: Evaluator<'a, T>,
    pub errors: Errors,
}

impl<'a, T: Instances> Checker<'a, T> {
    /// Configuration can only refer to configuration (RFC 7950 §6.4.1).
    pub fn new(data: &'a T, plan: &'a ValidationPlan, limits: Limits, scope: Scope) -> Self {
        Self {
            data,
            plan,
            evaluator: Evaluator::new(data, limits).within(scope),
            errors: Errors::new(),
        }
    }

    pub fn schema(&self) -> &'a Schema {
        self.data.schema()
    }

    /// Checks a rule at an instance of its anchor; for a leaf-list, only `value` if it is given.
    pub fn check(
        &mut self,
        id: RuleId,
        at: &T::Inner,
        value: Option<&Value>,
    ) -> Result<(), T::Error> {
        let plan = self.plan;
        let rule = plan.rule(id);
        match rule.kind {
            RuleKind::Must(index) => self.must(rule, index, at),
            RuleKind::When => self.when(rule, at),
            RuleKind::Reference => self.reference(rule, at, value),
            RuleKind::RequiredChildren => self.required_children(at),
            RuleKind::Unique(index) => self.unique(rule, index, at),
        }
    }

    /// The instances at the end of a chain of child nodes, in order.
    pub(super) fn instances(
        &self,
        at: &T::Inner,
        nodes: &[NodeId],
        visit: &mut dyn FnMut(Item<T>) -> Visit<T::Error>,
    ) -> Result<(), T::Error> {
        self.descend(at, nodes, visit).map(|_| ())
    }

    fn descend(
        &self,
        at: &T::Inner,
        chain: &[NodeId],
        visit: &mut dyn FnMut(Item<T>) -> Visit<T::Error>,
    ) -> Visit<T::Error> {
        let Some((&next, rest)) = chain.split_first() else {
            return visit(Item::Inner(at.clone()));
        };
        let mut flow = ControlFlow::Continue(());
        match &self.schema().node(next).kind {
            NodeKind::List(_) => self.data.entries(at, next, &mut |entry| {
                flow = self.descend(&entry, rest, visit)?;
                Ok(flow)
            })?,
            NodeKind::Leaf(_) | NodeKind::AnyData | NodeKind::AnyXml => {
                if let Some((value, _)) = self.evaluator.leaf(at, next)? {
                    flow = visit(Item::leaf(at.clone(), next, value))?;
                }
            }
            NodeKind::LeafList(_) => {
                self.evaluator.values(at, next, &mut |value, _| {
                    flow = visit(Item::leaf(at.clone(), next, value))?;
                    Ok(flow)
                })?;
            }
            _ => {
                if let Some(place) = self.evaluator.container(at, next)? {
                    flow = self.descend(&place, rest, visit)?;
                }
            }
        }
        Ok(flow)
    }

    /// Records a violation at an instance.
    pub fn report(&mut self, item: &Item<T>, error: DataError) -> Result<(), T::Error> {
        let path = match item {
            Item::Inner(place) => self.data.path(place)?,
            Item::Leaf(leaf) | Item::Text(leaf) => {
                let keys = match self.schema().node(leaf.node).is_leaf_list() {
                    true => Keys::Values(vec![leaf.value.clone()]),
                    false => Keys::None,
                };
                self.data.path(&leaf.holder)?.child(leaf.node, keys)
            }
        };
        self.report_at(&path, error);
        Ok(())
    }

    pub fn report_at(&mut self, path: &InstancePath, error: DataError) {
        let path = path.to_instance_identifier(self.schema());
        self.errors.push(error.at(path));
    }

    /// RFC 7950 §7.5.3.
    fn must(&mut self, rule: &Rule, index: usize, at: &T::Inner) -> Result<(), T::Error> {
        let Some(node) = rule.node.map(|node| self.schema().node(node)) else {
            return Ok(());
        };
        let must = &node.musts[index];
        let mut violating = Vec::new();
        let evaluator = &self.evaluator;
        let mut is_violated = false;
        self.instances(at, &rule.chain, &mut |item| {
            let holds = !is_violated && evaluator.test_shared(&must.expression, &item)?;
            match (holds, rule.is_uniform) {
                (true, true) => return Ok(ControlFlow::Break(())),
                (true, false) => {}
                (false, is_uniform) => {
                    is_violated = is_uniform;
                    violating.push(item);
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        for item in violating {
            self.report(&item, must_error(must))?;
        }
        Ok(())
    }

    /// RFC 7950 §7.21.5: an instance must not exist if its `when` is false.
    fn when(&mut self, rule: &Rule, holder: &T::Inner) -> Result<(), T::Error> {
        let Some(node) = rule.node.map(|node| self.schema().node(node)) else {
            return Ok(());
        };
        if let Some(when) = self.failing_when(node, holder)? {
            for item in stored_instances(self.data, node, holder)? {
                self.report(&item, when_error(node, when))?;
            }
        }
        Ok(())
    }

    /// The first `when` of a node that is false in this parent.
    pub fn failing_when(
        &self,
        node: &'a Node,
        holder: &T::Inner,
    ) -> Result<Option<&'a Constraint>, T::Error> {
        for when in &node.whens {
            if !self.evaluator.when(when, holder, node.id)? {
                return Ok(Some(when));
            }
        }
        Ok(None)
    }
}

/// The stored instances of a node in a parent.
pub(crate) fn stored_instances<T: Instances>(
    data: &T,
    node: &Node,
    holder: &T::Inner,
) -> Result<Vec<Item<T>>, T::Error> {
    let mut items = Vec::new();
    match &node.kind {
        NodeKind::Leaf(_) | NodeKind::AnyData | NodeKind::AnyXml => {
            let value = data.leaf(holder, node.id)?;
            items.extend(value.map(|value| Item::leaf(holder.clone(), node.id, value)));
        }
        NodeKind::LeafList(_) => data.values(holder, node.id, &mut |value| {
            items.push(Item::leaf(holder.clone(), node.id, value));
            Ok(ControlFlow::Continue(()))
        })?,
        NodeKind::List(_) => data.entries(holder, node.id, &mut |entry| {
            items.push(Item::Inner(entry));
            Ok(ControlFlow::Continue(()))
        })?,
        _ => {
            let place = data.container(holder, node.id);
            if data.is_stored(&place)? {
                items.push(Item::Inner(place));
            }
        }
    }
    Ok(items)
}

fn must_error(must: &Constraint) -> DataError {
    let message = match &must.error_message {
        Some(message) => message.to_string(),
        None => format!("the condition “{}” does not hold", must.text),
    };
    let tag = match &must.error_app_tag {
        Some(tag) => tag.to_string(),
        None => "must-violation".to_owned(),
    };
    DataError::new(ErrorTag::OperationFailed, message).with_app_tag(tag)
}

/// RFC 7950 §8.3.1.
pub(crate) fn when_error(node: &Node, when: &Constraint) -> DataError {
    let message = format!(
        "{} exists only when “{}” holds, and it does not",
        node.name, when.text
    );
    DataError::new(ErrorTag::UnknownElement, message)
}
