//! The part of the data of a provider that a plan reads.

use espalier_yang::{InstancePath, Keys, Schema};

use super::plan::{Instance, Plan, PlanId};

impl Plan {
    /// The path that a provider registered for `at` must return the data of: `at`, with the keys that the plan has, or a
    /// node in it if the plan selects no other. `None` if the plan selects nothing of it.
    pub fn path_within(&self, schema: &Schema, at: &InstancePath) -> Option<InstancePath> {
        let mut reached: Vec<PlanId> = self.roots().to_vec();
        let mut path = InstancePath::root();
        let mut is_whole = reached.iter().any(|&id| self.node(id).selects);
        for step in &at.steps {
            let mut keys = step.keys.clone();
            if !is_whole {
                let parents = reached.iter();
                let is_leaf = parents
                    .clone()
                    .any(|&parent| self.names_leaf(parent, step.node));
                let next: Vec<PlanId> = parents
                    .flat_map(|&parent| self.children_of(parent, step.node))
                    .filter(|&id| self.may_be(id, &step.keys))
                    .collect();
                if next.is_empty() && !is_leaf {
                    return None;
                }
                is_whole = is_leaf || next.iter().any(|&id| self.node(id).selects);
                if let ([id], Keys::None) = (next.as_slice(), &keys) {
                    keys = self.entry_keys(schema, *id);
                }
                reached = next;
            }
            path = path.child(step.node, keys);
        }
        match is_whole {
            true => Some(path),
            false => Some(self.narrowed(schema, path, reached)),
        }
    }

    /// The keys of the only entry that a plan node stands for; none if there may be several.
    fn entry_keys(&self, schema: &Schema, id: PlanId) -> Keys {
        let node = self.node(id);
        let count = node.node.map_or(0, |node| schema.node(node).keys().len());
        match &node.instance {
            Instance::Keys(Keys::Values(values)) if values.len() == count => {
                Keys::Values(values.clone())
            }
            _ => Keys::None,
        }
    }

    /// A path, extended while the plan selects from one node below it only.
    fn narrowed(
        &self,
        schema: &Schema,
        mut path: InstancePath,
        mut reached: Vec<PlanId>,
    ) -> InstancePath {
        while let [id] = reached.as_slice() {
            let node = self.node(*id);
            // The leaves of conditions are needed too.
            let is_passage = !node.selects && node.conditions.is_empty();
            let ([(child, next)], true) = (node.children.as_slice(), node.leaves.is_empty()) else {
                break;
            };
            if !is_passage {
                break;
            }
            let keys = match schema.node(*child).is_list() {
                true => self.entry_keys(schema, *next),
                false => Keys::None,
            };
            path = path.child(*child, keys);
            reached = vec![*next];
        }
        path
    }
}
