//! Paths as values.

use crate::schema::NodeId;
use crate::value::Value;

/// The instance of a step's node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Keys {
    /// The only one (containers, leaves), or all of them (a whole list or leaf-list).
    #[default]
    None,
    /// The list entry with these key values, in the order of the `key` statement; or, with one value, the leaf-list
    /// entry with that value.
    Values(Vec<Value>),
    /// The entry at this position, from 1: keyless lists and state leaf-lists.
    Position(u64),
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The schema node.
    pub node: NodeId,
    /// The instance.
    pub keys: Keys,
}

/// A path from the root to a data node (or to a whole list, if the last step has no keys). The empty path is the
/// datastore itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct InstancePath {
    /// The steps, outermost first; choices and cases do not appear.
    pub steps: Vec<Step>,
}

impl InstancePath {
    /// The path of the datastore itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// Returns whether this is the datastore itself.
    pub fn is_root(&self) -> bool {
        self.steps.is_empty()
    }

    /// The schema node of the last step.
    pub fn target(&self) -> Option<NodeId> {
        self.steps.last().map(|step| step.node)
    }

    /// The path without its last step; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        let (_, steps) = self.steps.split_last()?;
        Some(Self {
            steps: steps.to_vec(),
        })
    }

    /// This path, extended by one step.
    #[must_use]
    pub fn child(&self, node: NodeId, keys: Keys) -> Self {
        let mut steps = self.steps.clone();
        steps.push(Step { node, keys });
        Self { steps }
    }
}
