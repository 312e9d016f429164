//! The plan of nodes that an evaluation selected.

use espalier_yang::xpath::evaluate::{Item, Leaf};
use espalier_yang::{Instances, Keys};

use super::plan::{ContentCondition, Instance, Plan, PlanId};
use crate::error::Result;
use crate::tree::key_nodes::KeyNode;
use crate::tree::locate::TreeState;
use crate::tree::validate::NodeRef;

/// The plan of nodes of a datastore.
///
/// # Errors
/// `too-big` beyond [`FILTER_PLAN_NODES_MAX`](super::FILTER_PLAN_NODES_MAX).
pub(in crate::tree) fn plan_of_nodes<T>(state: TreeState<'_>, items: Vec<Item<T>>) -> Result<Plan>
where
    T: Instances<Inner = NodeRef>,
{
    let mut plan = Plan::default();
    let root = plan.add_root(Vec::new())?;
    let mut planner = Planner { state, plan, root };
    for item in &items {
        match item {
            Item::Inner(place) => {
                let id = planner.place(place)?;
                planner.plan.select(id);
            }
            Item::Leaf(leaf) | Item::Text(leaf) => planner.leaf(leaf)?,
        }
    }
    Ok(planner.plan.sorted())
}

struct Planner<'a> {
    state: TreeState<'a>,
    plan: Plan,
    root: PlanId,
}

impl Planner<'_> {
    /// The plan node of a container, list entry, or the datastore.
    fn place(&mut self, place: &NodeRef) -> Result<PlanId> {
        let trail = self.state.trail(place.key())?.unwrap_or_default();
        let mut id = self.root;
        for KeyNode { node, end, .. } in trail {
            let instance = match self.state.schema().node(node).is_list() {
                true => Instance::TreeKey(place.key()[..end].into()),
                false => Instance::ALL,
            };
            id = self.plan.child(id, node, instance)?;
        }
        Ok(id)
    }

    fn leaf<T: Instances<Inner = NodeRef>>(&mut self, leaf: &Leaf<T>) -> Result<()> {
        let parent = self.place(&leaf.holder)?;
        let node = self.state.schema().node(leaf.node);
        if !node.is_leaf_list() {
            self.plan.select_leaf(parent, leaf.node, None);
            return Ok(());
        }
        let entry = match node.is_positional() && !node.is_config {
            // Values do not identify the entries: all with this value are selected.
            true => {
                let condition = ContentCondition(vec![(leaf.node, leaf.value.clone())]);
                let all = Instance::ALL;
                self.plan
                    .add_child(parent, leaf.node, all, vec![condition])?
            }
            false => {
                let instance = Instance::Keys(Keys::Values(vec![leaf.value.clone()]));
                self.plan.child(parent, leaf.node, instance)?
            }
        };
        self.plan.select(entry);
        Ok(())
    }
}
