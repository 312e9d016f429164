//! The list or leaf-list of which a plan selects entries, for pages of it.

use espalier_yang::{InstancePath, Keys, NodeId, Schema};

use super::plan::{Instance, Plan, PlanId};

/// The only list or leaf-list that a plan selects entries of.
#[derive(Clone, Debug)]
pub(in crate::tree) struct PlannedList {
    /// The whole list.
    pub path: InstancePath,
    /// The node of the plan for its entries.
    pub id: PlanId,
    /// The leading keys that the plan gives.
    pub keys: Keys,
    /// Whether all these entries are selected with everything below them.
    pub is_whole: bool,
}

impl Plan {
    /// The list or leaf-list that the plan selects entries of; `None` if it selects anything else too, or entries of several
    /// lists. The way to it leads through containers, and entries of which the plan has all keys and nothing else than one
    /// node below.
    pub fn only_list(&self, schema: &Schema) -> Option<PlannedList> {
        let [root] = self.roots() else {
            return None;
        };
        let (mut id, mut path) = (*root, InstancePath::root());
        let mut found = None;
        while let Some((node, child)) = self.only_child(schema, id) {
            let keys = match &self.node(child).instance {
                Instance::Keys(keys) => keys.clone(),
                Instance::TreeKey(_) => return None,
            };
            let schema_node = schema.node(node);
            if schema_node.is_list() || schema_node.is_leaf_list() {
                let of_child = self.node(child);
                found = Some(PlannedList {
                    path: path.child(node, Keys::None),
                    id: child,
                    keys: keys.clone(),
                    is_whole: of_child.selects && of_child.conditions.is_empty(),
                });
            }
            let is_entry =
                matches!(&keys, Keys::Values(values) if values.len() == schema_node.keys().len());
            if (schema_node.is_list() && !is_entry) || schema_node.is_leaf_list() {
                return found;
            }
            path = path.child(node, keys);
            id = child;
        }
        // The innermost list, unless more than its entries is selected.
        found.filter(|list| list.id == id)
    }

    /// The node below another that leads to all that this selects.
    fn only_child(&self, schema: &Schema, id: PlanId) -> Option<(NodeId, PlanId)> {
        let node = self.node(id);
        // Keys are sent with their entry, whether they are selected or not.
        let is_key = |leaf: NodeId| {
            schema
                .node(leaf)
                .as_value()
                .is_some_and(|value| value.is_key)
        };
        let has_leaves = node.leaves.iter().any(|(leaf, _)| !is_key(*leaf));
        match node.children.as_slice() {
            [only] if !node.selects && node.conditions.is_empty() && !has_leaves => Some(*only),
            _ => None,
        }
    }
}
