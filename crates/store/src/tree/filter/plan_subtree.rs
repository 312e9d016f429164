//! The plan of a subtree filter.

use espalier_yang::data::subtree_filter::{FilterContent, FilterNode, SubtreeFilter};
use espalier_yang::schema::Node;
use espalier_yang::{Keys, NodeId, NodeKind, Schema, Value};

use super::plan::{ContentCondition, Instance, Plan, PlanId};
use crate::error::Result;

/// The plan of a subtree filter.
///
/// # Errors
/// `too-big` beyond [`FILTER_PLAN_NODES_MAX`](super::FILTER_PLAN_NODES_MAX).
pub(super) fn plan_subtree(schema: &Schema, filter: &SubtreeFilter) -> Result<Plan> {
    let mut planner = Planner {
        schema,
        plan: Plan::default(),
    };
    let root = planner.plan.add_root(Vec::new())?;
    for node in filter.nodes() {
        match node.content() {
            // Each outermost node selects by itself: its siblings do not depend on this one.
            FilterContent::ContentMatch(_) => {
                let conditions = vec![condition(schema, None, node)];
                let root = planner.plan.add_root(conditions)?;
                planner.add(root, None, node)?;
            }
            _ => planner.add(root, None, node)?,
        }
    }
    Ok(planner.plan.sorted())
}

struct Planner<'a> {
    schema: &'a Schema,
    plan: Plan,
}

impl Planner<'_> {
    /// Adds what a filter node selects below `parent`, whose schema node is `above`.
    fn add(&mut self, parent: PlanId, above: Option<NodeId>, filter: &FilterNode) -> Result<()> {
        for id in filter.schema_nodes(self.schema, above) {
            let node = self.schema.node(id);
            match (&node.kind, filter.content()) {
                (NodeKind::LeafList(_), FilterContent::ContentMatch(text)) => {
                    if let Some(value) = text.value(self.schema, id) {
                        self.add_entry(parent, node, value)?;
                    }
                }
                (NodeKind::LeafList(_), FilterContent::Selection) => {
                    let all = self.plan.child(parent, id, Instance::ALL)?;
                    self.plan.select(all);
                }
                (NodeKind::Leaf(_), FilterContent::ContentMatch(text)) => {
                    let value = text.value(self.schema, id);
                    if value.is_some() {
                        self.plan.select_leaf(parent, id, value);
                    }
                }
                (
                    NodeKind::Leaf(_) | NodeKind::AnyData | NodeKind::AnyXml,
                    FilterContent::Selection,
                ) => self.plan.select_leaf(parent, id, None),
                (NodeKind::Container { .. } | NodeKind::List(_), FilterContent::Selection) => {
                    let whole = self.plan.child(parent, id, Instance::ALL)?;
                    self.plan.select(whole);
                }
                (
                    NodeKind::Container { .. } | NodeKind::List(_),
                    FilterContent::Containment(children),
                ) => self.add_containment(parent, node, children)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds the entries of a leaf-list with a value.
    fn add_entry(&mut self, parent: PlanId, node: &Node, value: Value) -> Result<()> {
        let entry = match node.is_positional() && !node.is_config {
            // Values do not identify the entries.
            true => {
                let condition = ContentCondition(vec![(node.id, value)]);
                self.plan
                    .add_child(parent, node.id, Instance::ALL, vec![condition])?
            }
            false => {
                let instance = Instance::Keys(Keys::Values(vec![value]));
                self.plan.child(parent, node.id, instance)?
            }
        };
        self.plan.select(entry);
        Ok(())
    }

    fn add_containment(
        &mut self,
        parent: PlanId,
        node: &Node,
        children: &[FilterNode],
    ) -> Result<()> {
        let matches = children.iter().filter(|child| child.is_content_match());
        let conditions: Vec<_> = matches
            .map(|child| condition(self.schema, Some(node.id), child))
            .collect();
        // Content match nodes alone select the whole instance (RFC 6241 §6.2.5).
        let is_whole = conditions.len() == children.len();
        let Some((keys, conditions)) = keys_of(node, conditions) else {
            return Ok(());
        };
        let instance = Instance::Keys(keys);
        let id = match conditions.is_empty() {
            true => self.plan.child(parent, node.id, instance)?,
            false => self.plan.add_child(parent, node.id, instance, conditions)?,
        };
        if is_whole {
            self.plan.select(id);
            return Ok(());
        }
        children
            .iter()
            .try_for_each(|child| self.add(id, Some(node.id), child))
    }
}

/// The condition of a content match node.
fn condition(schema: &Schema, parent: Option<NodeId>, filter: &FilterNode) -> ContentCondition {
    let FilterContent::ContentMatch(text) = filter.content() else {
        return ContentCondition(Vec::new());
    };
    let nodes = filter.schema_nodes(schema, parent).into_iter();
    let alternatives = nodes.filter_map(|node| Some((node, text.value(schema, node)?)));
    ContentCondition(alternatives.collect())
}

/// Separates the conditions that are part of the tree key from the others; `None` if they contradict each other.
fn keys_of(
    node: &Node,
    conditions: Vec<ContentCondition>,
) -> Option<(Keys, Vec<ContentCondition>)> {
    if conditions.iter().any(|condition| condition.0.is_empty()) {
        return None;
    }
    let mut values: Vec<Option<Value>> = vec![None; node.keys().len()];
    let mut others = Vec::new();
    for condition in conditions {
        let key = match condition.0.as_slice() {
            [(leaf, value)] => {
                let key = node.keys().iter().position(|key| key == leaf);
                key.map(|key| (key, value.clone()))
            }
            _ => None,
        };
        match key {
            Some((key, value)) if values[key].as_ref().is_some_and(|other| *other != value) => {
                return None;
            }
            Some((key, value)) => values[key] = Some(value),
            None => others.push(condition),
        }
    }
    // The keys of an entry are in the tree key if no order is stored.
    let given = values.iter().take_while(|value| value.is_some()).count();
    let in_tree_key = match node.is_positional() && given < values.len() {
        true => 0,
        false => given,
    };
    let rest = values.split_off(in_tree_key);
    for (&leaf, value) in node.keys()[in_tree_key..].iter().zip(rest) {
        others.extend(value.map(|value| ContentCondition(vec![(leaf, value)])));
    }
    let values: Vec<Value> = values.into_iter().flatten().collect();
    match values.is_empty() {
        true => Some((Keys::None, others)),
        false => Some((Keys::Values(values), others)),
    }
}
