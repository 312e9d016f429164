//! The event stream that joins parsers, printers, trees and the store.

use super::origin::Origin;
use crate::schema::NodeId;
use crate::value::Value;

/// Where in a document an event comes from. Line and column count from 1; 0 is "no document".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The line.
    pub line: u32,
    /// The column in bytes.
    pub column: u32,
}

/// The edit operations of RFC 6241 §7.2 (`none` is the absence of an operation, and inherited).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Merge with what is there.
    Merge,
    /// Replace what is there.
    Replace,
    /// Create; an error where it exists.
    Create,
    /// Delete; an error where it does not exist.
    Delete,
    /// Delete if it exists.
    Remove,
    /// Descend only; an error where it does not exist.
    None,
}

impl Operation {
    /// Whether it takes away what is there: delete and remove.
    pub fn deletes(self) -> bool {
        matches!(self, Self::Delete | Self::Remove)
    }
}

/// What a document says about one node beside its content: XML attributes, or JSON metadata
/// (RFC 7952) under `@`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Annotation {
    /// `ietf-netconf:operation` (RFC 6241 §7.2); also accepted as `operation` without a module.
    Operation(Operation),
    /// `yang:insert` (RFC 7950 §7.7.9, §7.8.6): `first`, `last`, `before` or `after`.
    Insert(Box<str>),
    /// `yang:key`: the list entry that `insert` refers to, as key predicates.
    Key(Box<str>),
    /// `yang:value`: the leaf-list entry that `insert` refers to.
    Value(Box<str>),
    /// `ietf-netconf-with-defaults:default="true"` (RFC 6243 §6).
    Default,
    /// `ietf-origin:origin` (RFC 8342 §5.3.4).
    Origin(Origin),
    /// Any other annotation: module, name, value.
    Other(Box<str>, Box<str>, Box<str>),
}

/// The annotations of one node, mostly none.
pub type Annotations = Vec<Annotation>;

/// Whether annotations say that their node is deleted.
pub(super) fn deletes(annotations: &[Annotation]) -> bool {
    let deletes = |annotation: &Annotation| matches!(annotation, Annotation::Operation(operation) if operation.deletes());
    annotations.iter().any(deletes)
}

/// Returned by a sink that wants no more events: the source stops at once. The reason stays with
/// the sink (a full disk, a client that went away, enough errors).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop;

/// Receives a data tree in document order: `open`, then the content, then `close` for containers,
/// list entries, operations and notifications; `leaf` for each leaf and each leaf-list entry.
///
/// What sources promise: nodes are children of what is open; values are canonical and of their
/// type; entries of one list (or leaf-list) that come from the store follow one another without
/// other nodes between, and keys come first, in order. What parsers do not promise: keys first
/// (JSON members have no order), entries of one list together (XML).
pub trait Sink {
    /// A container, list entry, RPC, action, input, output or notification begins.
    fn open(&mut self, node: NodeId, mark: Mark) -> Result<(), Stop>;

    /// A leaf, or one entry of a leaf-list.
    fn leaf(&mut self, node: NodeId, value: Value, mark: Mark) -> Result<(), Stop>;

    /// An `anydata` or `anyxml` node, with its content as JSON text (RFC 7951 §5.5, §5.6).
    fn any(&mut self, node: NodeId, json: &str, mark: Mark) -> Result<(), Stop>;

    /// What `open` began ends.
    fn close(&mut self, mark: Mark) -> Result<(), Stop>;

    /// Annotations of the node whose `open`, `leaf` or `any` comes next. Only called where there
    /// are some; a sink that does not care ignores them.
    fn annotate(&mut self, annotations: Annotations) -> Result<(), Stop> {
        let _ = annotations;
        Ok(())
    }

    /// The node of a leaf or leaf-list is named without a value, as the target of a delete
    /// (XML `<leaf nc:operation="delete"/>`). Called after [`Self::annotate`].
    fn bare(&mut self, node: NodeId, mark: Mark) -> Result<(), Stop> {
        let _ = (node, mark);
        Ok(())
    }
}
