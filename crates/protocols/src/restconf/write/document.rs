//! The document in a request body.

use espalier_yang::data::{Content, DataNode, DataTree, MetadataMode, ParseOptions, Root};
use espalier_yang::{DataError, ErrorTag, InstancePath, Keys, NodeId, Step, Value};
use http::Method;

use super::write_request::Job;
use crate::restconf::codec;
use crate::restconf::error::{Failure, Result};
use crate::restconf::media::Format;

impl Job {
    /// Parses a body in memory. `place` is the parent of its content.
    pub(super) fn parse(
        &self,
        format: Format,
        body: &[u8],
        root: Root,
        place: InstancePath,
        metadata: MetadataMode,
    ) -> Result<DataTree> {
        let options = ParseOptions {
            accept: self.accept,
            metadata,
            place,
            wrapping: self.wrapping,
            // RFC 8040 §4.6.1: the body of a plain patch may omit the keys of its target.
            target_keys: match self.method {
                Method::PATCH => self.target_keys().to_vec(),
                _ => Vec::new(),
            },
            other_modules: None,
        };
        codec::parse_tree(self.schema(), format, root, body, &options)
    }

    /// The key values in the URL, if the target is a list entry.
    fn target_keys(&self) -> &[Value] {
        match self.path().steps.last() {
            Some(Step {
                node,
                keys: Keys::Values(values),
            }) if self.schema().node(*node).is_list() => values,
            _ => &[],
        }
    }

    /// Adds the keys that the body omits to the target.
    pub(super) fn complete_keys(&self, tree: &mut DataTree) {
        let Some(node) = tree.nodes.first_mut() else {
            return;
        };
        let names = self.schema().node(node.node).keys();
        let Content::Inner(children) = &mut node.content else {
            return;
        };
        for (index, (&key, value)) in names.iter().zip(self.target_keys()).enumerate() {
            if !children.iter().any(|child| child.node == key) {
                let place = index.min(children.len());
                children.insert(place, DataNode::new(key, Content::Value(value.clone())));
            }
        }
    }

    /// RFC 8040 §4.6.1: a plain patch changes its target. An operation on the target itself (delete,
    /// replace, create) requires another method.
    pub(super) fn check_target_operation(&self, tree: &DataTree) -> Result<()> {
        let target = tree.nodes.first().filter(|_| !self.path().is_root());
        match target.and_then(|node| Some((node.mark, node.operation()?))) {
            None => Ok(()),
            Some((mark, _)) => {
                let message =
                    "a plain patch cannot have an operation on its target: use DELETE, PUT or POST";
                let path = self.path().to_instance_identifier(self.schema());
                let error = DataError::new(ErrorTag::BadAttribute, message);
                Err(error.at(path).on_line(mark.line).into())
            }
        }
    }

    /// RFC 8040 §4.5: the keys in the body must equal those in the URL.
    pub(super) fn check_keys(&self, tree: &DataTree) -> Result<()> {
        let (Some(last), Some(node)) = (self.path().steps.last(), tree.nodes.first()) else {
            return Ok(());
        };
        match node.instance(self.schema()) == last.keys {
            true => Ok(()),
            false => Err(Failure::invalid(
                "the keys in the body differ from those in the URL",
            )),
        }
    }
}

/// Collects the keys of a list entry, in any order.
#[derive(Debug, Default)]
pub(super) struct KeyCollector(Vec<(NodeId, Value)>);

impl KeyCollector {
    pub(super) fn add(&mut self, leaf: NodeId, value: &Value) {
        self.0.push((leaf, value.clone()));
    }

    /// The values in the order of `keys`.
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
