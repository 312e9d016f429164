//! Whether the changes of what a filter selects of the operational state datastore are commits to it.

use espalier_yang::NodeId;

use super::tracked_filter::TrackedFilter;
use crate::tree::Tree;

impl TrackedFilter {
    /// Whether the filter reads only state that is pushed to an operational state datastore: neither configuration, except
    /// keys, nor what providers have now. The pushed data ([`Tree::at`]) then has all that the filter reads, unless state
    /// is stored next to running.
    pub fn reads_pushed_state_only(&self, operational: &Tree) -> bool {
        let is_provided = operational
            .provider_paths()
            .iter()
            .any(|at| self.plan().path_within(self.schema(), at).is_some());
        !is_provided && self.reads_state_only()
    }

    fn reads_state_only(&self) -> bool {
        let schema = self.schema();
        let is_key = |id: NodeId| {
            let parent = schema.node(id).parent;
            parent.is_some_and(|parent| schema.node(parent).keys().contains(&id))
        };
        let is_pushed = |id: NodeId| !schema.node(id).is_config || is_key(id);
        self.plan().nodes().iter().all(|node| {
            let is_state = node.node.is_some_and(|id| !schema.node(id).is_config);
            let mut conditions = node.conditions.iter().flat_map(|condition| &condition.0);
            (!node.selects || is_state)
                && node.leaves.iter().all(|(leaf, _)| is_pushed(*leaf))
                && conditions.all(|(leaf, _)| is_pushed(*leaf))
        })
    }
}
