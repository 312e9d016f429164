//! The event stream between parsers, printers, trees and the store.

use super::origin::Origin;
use crate::schema::NodeId;
use crate::value::Value;

/// The position of an event in a document. Line and column count from 1; 0 means "no document".
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
    /// Merge with existing data.
    Merge,
    /// Replace existing data.
    Replace,
    /// Create; an error if it exists.
    Create,
    /// Delete; an error if it does not exist.
    Delete,
    /// Delete if it exists.
    Remove,
    /// Descend only; an error if it does not exist.
    None,
}

impl Operation {
    /// Returns whether the operation deletes: delete or remove.
    pub fn deletes(self) -> bool {
        matches!(self, Self::Delete | Self::Remove)
    }
}

/// The metadata of one node: XML attributes, or JSON metadata (RFC 7952) under `@`.
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

/// The annotations of one node, usually none.
pub type Annotations = Vec<Annotation>;

/// Returns whether annotations delete their node.
pub(super) fn deletes(annotations: &[Annotation]) -> bool {
    let deletes = |annotation: &Annotation| matches!(annotation, Annotation::Operation(operation) if operation.deletes());
    annotations.iter().any(deletes)
}

/// Returned by a sink that accepts no more events: the source stops immediately. The sink keeps the reason (a full
/// disk, a disconnected client, too many errors).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop;

// Events in place of a shared tree type, so that memory is bounded: docs/decisions/0006.
/// Receives a data tree in document order: `open`, then the content, then `close` for containers,
/// list entries, operations and notifications; `leaf` for each leaf and each leaf-list entry.
///
/// Guaranteed by all sources: nodes are children of the open node; values are canonical and of their type; the
/// entries of one list (or leaf-list) from the store are contiguous, with the keys first, in order. Not
/// guaranteed by parsers: keys first (JSON members have no order), contiguous entries (XML).
pub trait Sink {
    /// A container, list entry, RPC, action, input, output or notification begins.
    fn open(&mut self, node: NodeId, mark: Mark) -> Result<(), Stop>;

    /// A leaf, or one entry of a leaf-list.
    fn leaf(&mut self, node: NodeId, value: Value, mark: Mark) -> Result<(), Stop>;

    /// An `anydata` or `anyxml` node, with its content as JSON text (RFC 7951 §5.5, §5.6).
    fn any(&mut self, node: NodeId, json: &str, mark: Mark) -> Result<(), Stop>;

    /// Ends the node that `open` began.
    fn close(&mut self, mark: Mark) -> Result<(), Stop>;

    /// The annotations of the node of the next `open`, `leaf` or `any`. Only called if there are any; a sink may
    /// ignore them.
    fn annotate(&mut self, annotations: Annotations) -> Result<(), Stop> {
        let _ = annotations;
        Ok(())
    }

    /// A leaf or leaf-list without a value, the target of a delete (XML `<leaf nc:operation="delete"/>`). Called
    /// after [`Self::annotate`].
    fn bare(&mut self, node: NodeId, mark: Mark) -> Result<(), Stop> {
        let _ = (node, mark);
        Ok(())
    }
}
