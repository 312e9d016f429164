//! Evaluation on a tree in memory: whether a filter selects anything.

use super::filter::{FilterContent, FilterNode, SubtreeFilter};
use crate::data::{Content, DataNode, DataTree};
use crate::schema::Schema;

impl SubtreeFilter {
    /// Whether the filter selects anything of a tree.
    pub fn matches(&self, schema: &Schema, tree: &DataTree) -> bool {
        let mut nodes = self.nodes.iter();
        nodes.any(|node| node.selects(schema, &tree.nodes))
    }
}

impl FilterNode {
    /// Whether it selects anything among these siblings.
    fn selects(&self, schema: &Schema, siblings: &[DataNode]) -> bool {
        let mut siblings = siblings.iter();
        !self.has_attributes
            && siblings
                .any(|node| self.is_named(schema, node.node) && self.selects_in(schema, node))
    }

    fn selects_in(&self, schema: &Schema, node: &DataNode) -> bool {
        match &self.content {
            FilterContent::Selection => true,
            FilterContent::ContentMatch(wanted) => match node.value() {
                Some(value) => wanted.value(schema, node.node).as_ref() == Some(value),
                None => false,
            },
            FilterContent::Containment(children) => {
                let Content::Inner(inside) = &node.content else {
                    return false;
                };
                let (conditions, selections): (Vec<_>, Vec<_>) =
                    children.iter().partition(|child| child.is_content_match());
                let holds = |condition: &&FilterNode| condition.selects(schema, inside);
                // A matched leaf is itself selected, whatever its siblings select.
                match conditions.is_empty() {
                    true => selections.iter().any(holds),
                    false => conditions.iter().all(holds),
                }
            }
        }
    }
}
