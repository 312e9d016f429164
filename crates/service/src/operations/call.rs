//! One call of an operation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use espalier_yang::data::{DataNode, DataTree, ParseError, ParseOptions, Root, TreeBuilder, json};
use espalier_yang::{DataError, ErrorTag, Errors, InstancePath, NodeId, NodeKind, Schema};

use crate::notifications::{Encoding, PolicyNodes};
use crate::session::Session;

/// Whether a call is still waited for.
#[derive(Clone, Debug)]
pub struct CallState {
    deadline: Instant,
    is_over: Arc<AtomicBool>,
}

impl CallState {
    pub(super) fn until(deadline: Instant) -> Self {
        let is_over = Arc::default();
        Self { deadline, is_over }
    }

    /// The time until which the result is waited for.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether nobody waits for the result any more.
    pub fn has_ended(&self) -> bool {
        self.is_over.load(Ordering::Acquire) || Instant::now() >= self.deadline
    }

    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }
}

/// A call of an operation.
#[derive(Clone, Debug)]
pub struct OperationCall {
    /// The schema of the operation and its data.
    pub schema: Arc<Schema>,
    /// The RPC, or the action below its entry or container.
    pub path: InstancePath,
    /// The input, with the defaults in use: a tree whose only node is the `input`.
    pub input: DataTree,
    /// Who makes the call.
    pub session: Arc<Session>,
    /// The encoding of `anydata` in the output whose content the schema of the operation does not define.
    pub encoding: Encoding,
    pub(super) state: CallState,
}

impl OperationCall {
    /// The schema node of the operation.
    pub fn operation(&self) -> NodeId {
        self.path.target().unwrap_or(NodeId(0))
    }

    /// The content of the input.
    pub fn arguments(&self) -> &[DataNode] {
        let input = self.input.nodes.first();
        input.map_or(&[], DataNode::children)
    }

    /// A leaf at the top of the input, as text; `None` if it is not given and has no default.
    pub fn argument(&self, name: &str) -> Option<String> {
        let named = |node: &&DataNode| &*self.schema.node(node.node).name == name;
        let leaf = self.arguments().iter().find(named)?;
        leaf.value().map(ToString::to_string)
    }

    /// The input as the terms of a subscription.
    pub(crate) fn policy(&self) -> PolicyNodes<'_> {
        PolicyNodes {
            schema: &self.schema,
            nodes: self.arguments(),
        }
    }

    /// Whether it is still waited for.
    pub fn state(&self) -> &CallState {
        &self.state
    }

    /// Whether nobody waits for the result any more: the time is over, or the session was killed.
    pub fn has_ended(&self) -> bool {
        self.state.has_ended() || self.session.is_killed()
    }

    /// Whether it was given up before its time was over.
    pub(crate) fn is_given_up(&self) -> bool {
        self.state.is_over.load(Ordering::Acquire) || self.session.is_killed()
    }

    /// An output, from its JSON document: `{"module:output": {...}}`.
    ///
    /// # Errors
    /// Every error of the document.
    pub fn output(&self, document: &[u8]) -> Result<DataTree, Errors> {
        let Some(output) = output_of(&self.schema, self.operation()) else {
            return Ok(DataTree::default());
        };
        let mut builder = TreeBuilder::new();
        let root = Root::Resource(output);
        let options = ParseOptions::default();
        match json::parse(&self.schema, root, document, &mut builder, &options) {
            Ok(_) => Ok(builder.finish()?),
            Err(ParseError::Invalid(errors)) => Err(errors),
            Err(error) => Err(DataError::new(ErrorTag::OperationFailed, error.to_string()).into()),
        }
    }
}

/// The `input` of an operation; `None` if it has none.
pub fn input_of(schema: &Schema, operation: NodeId) -> Option<NodeId> {
    child_of_kind(schema, operation, |kind| matches!(kind, NodeKind::Input))
}

/// The `output` of an operation; `None` if it has none.
pub(super) fn output_of(schema: &Schema, operation: NodeId) -> Option<NodeId> {
    child_of_kind(schema, operation, |kind| matches!(kind, NodeKind::Output))
}

fn child_of_kind(
    schema: &Schema,
    operation: NodeId,
    is_wanted: impl Fn(&NodeKind) -> bool,
) -> Option<NodeId> {
    let mut children = schema.node(operation).children.iter().copied();
    children.find(|&child| is_wanted(&schema.node(child).kind))
}
