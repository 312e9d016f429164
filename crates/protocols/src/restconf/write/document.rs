//! The document in a request's body.

use espalier_yang::data::{
    DataNode, DataTree, Metadata, ParseError, ParseOptions, Root, TreeBuilder,
};
use espalier_yang::{InstancePath, Keys, NodeId, Step, Value};

use super::job::Job;
use crate::restconf::codec;
use crate::restconf::error::{Failure, Result};
use crate::restconf::media::Format;

impl Job {
    /// Parses a body that is held in memory. `place` is the node above its content.
    pub(super) fn parse(
        &self,
        format: Format,
        body: &[u8],
        root: Root,
        place: InstancePath,
        metadata: Metadata,
    ) -> Result<DataTree> {
        let options = ParseOptions {
            accept: self.accept,
            metadata,
            place,
        };
        let mut builder = TreeBuilder::new();
        match codec::parse(self.schema(), format, root, body, &mut builder, &options) {
            Ok(()) | Err(ParseError::Stopped) => Ok(builder.finish()?),
            Err(error) => Err(error.into()),
        }
    }

    /// RFC 8040 §4.5: the keys in the body are those in the URL.
    pub(super) fn check_keys(&self, tree: &DataTree) -> Result<()> {
        let (Some(last), Some(node)) = (self.path().steps.last(), tree.nodes.first()) else {
            return Ok(());
        };
        match instance_of(self, node) == last.keys {
            true => Ok(()),
            false => Err(Failure::invalid(
                "the keys in the body are not those in the URL",
            )),
        }
    }
}

/// Which instance of its schema node a node is.
pub(super) fn instance_of(job: &Job, node: &DataNode) -> Keys {
    let schema = job.schema();
    if schema.node(node.node).is_leaf_list() {
        return node
            .value()
            .map_or(Keys::None, |value| Keys::Values(vec![value.clone()]));
    }
    match node.keys(schema) {
        Some(keys) if !keys.is_empty() => Keys::Values(keys.into_iter().cloned().collect()),
        _ => Keys::None,
    }
}

/// The path of a node that a document brings below `parent`.
pub(super) fn child_path(parent: &InstancePath, node: NodeId, keys: Keys) -> InstancePath {
    let mut path = parent.clone();
    path.steps.push(Step { node, keys });
    path
}

/// The keys of a list entry as they come, in whatever order.
#[derive(Debug, Default)]
pub(super) struct KeyCollector(Vec<(NodeId, Value)>);

impl KeyCollector {
    pub(super) fn add(&mut self, leaf: NodeId, value: &Value) {
        self.0.push((leaf, value.clone()));
    }

    /// The values, in the order of `keys`.
    pub(super) fn keys(&self, keys: &[NodeId]) -> Keys {
        let value_of = |key: &NodeId| {
            let found = self.0.iter().find(|(leaf, _)| leaf == key);
            found.map(|(_, value)| value.clone())
        };
        match keys.iter().map(value_of).collect::<Option<Vec<Value>>>() {
            Some(values) if !values.is_empty() => Keys::Values(values),
            _ => Keys::None,
        }
    }
}
