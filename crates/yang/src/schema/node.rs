//! The nodes of a schema.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::schema::{ModuleId, Type};
use crate::value::Value;

/// A node of one [`crate::Schema`] value; an index into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct NodeId(pub u32);

/// `ordered-by` (RFC 7950 §7.7.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ordering {
    /// The system chooses: here, the order of the keys.
    System,
    /// The user chooses, and it is kept.
    User,
}

/// `status` (RFC 7950 §7.21.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// Current.
    Current,
    /// Deprecated.
    Deprecated,
    /// Obsolete.
    Obsolete,
}

/// A `must` or `when` (RFC 7950 §7.5.3, §7.21.5).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Constraint {
    /// The expression as the model has it.
    pub text: Box<str>,
    /// The expression, parsed; module names in place of prefixes.
    pub expression: crate::xpath::Expression,
    /// `error-message`.
    pub error_message: Option<Box<str>>,
    /// `error-app-tag`.
    pub error_app_tag: Option<Box<str>>,
    /// For a `when` that came from an `augment`, `uses`, `choice` or `case`: the context node is
    /// this many data-tree levels above the node (RFC 7950 §7.21.5).
    pub context_levels_up: u8,
}

/// What kind of node, and what only that kind has.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum NodeKind {
    /// A container.
    Container {
        /// Whether its existence has a meaning of its own.
        presence: bool,
    },
    /// A list.
    List(ListNode),
    /// A leaf.
    Leaf(ValueNode),
    /// A leaf-list.
    LeafList(ValueNode),
    /// `anydata`.
    AnyData,
    /// `anyxml`.
    AnyXml,
    /// An RPC; its children are [`Self::Input`] and [`Self::Output`].
    Rpc,
    /// An action; its children are [`Self::Input`] and [`Self::Output`].
    Action,
    /// The input of an RPC or action.
    Input,
    /// The output of an RPC or action.
    Output,
    /// A notification.
    Notification,
}

/// What only a list has.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ListNode {
    /// The key leaves, in the order of the `key` statement; empty for a keyless state list.
    pub keys: Vec<NodeId>,
    /// `ordered-by`; always [`Ordering::System`] for state data that has keys.
    pub ordering: Ordering,
    /// `min-elements`.
    pub min_elements: u32,
    /// `max-elements`.
    pub max_elements: Option<u32>,
    /// Each `unique` statement: the leaves, in order.
    pub unique: Vec<Vec<NodeId>>,
}

/// What only a leaf or leaf-list has.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ValueNode {
    /// The type, shared by all leaves that have the same.
    #[serde(skip)]
    pub value_type: Arc<Type>,
    /// `default`, in canonical form: at most one for a leaf. Includes the default of the type.
    pub defaults: Vec<Value>,
    /// `units`.
    pub units: Option<Box<str>>,
    /// Whether this leaf is a key of its list.
    pub is_key: bool,
    /// `ordered-by`, for a leaf-list.
    pub ordering: Ordering,
    /// `min-elements`, for a leaf-list.
    pub min_elements: u32,
    /// `max-elements`, for a leaf-list.
    pub max_elements: Option<u32>,
}

/// A choice and the case of it that a node belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseChoice {
    /// The choice: the index of [`crate::Schema::choices`].
    pub choice: u32,
    /// The case: the index within the choice.
    pub case: u32,
}

/// One schema node that has data: everything but `choice` and `case`, which appear in
/// [`Node::cases`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Node {
    /// Its id.
    pub id: NodeId,
    /// Kind, and what only that kind has.
    pub kind: NodeKind,
    /// Its name.
    pub name: Box<str>,
    /// The module whose namespace it is in.
    pub module: ModuleId,
    /// The node above it in the data tree; none at the top level.
    pub parent: Option<NodeId>,
    /// The nodes below it in the data tree, in schema order (keys first); choices dissolved.
    pub children: Vec<NodeId>,
    /// The choices that it is in, outermost first.
    pub cases: Vec<CaseChoice>,
    /// `config true`.
    pub is_config: bool,
    /// `mandatory true`.
    pub is_mandatory: bool,
    /// `status`.
    pub status: Status,
    /// `description`.
    pub description: Option<Box<str>>,
    /// `must` statements.
    pub musts: Vec<Constraint>,
    /// `when` statements, its own and those it inherits from augment, uses, choice and case.
    pub whens: Vec<Constraint>,
    /// Extension instances: `module:name` of the extension, and the argument.
    pub extensions: Vec<(Box<str>, Option<Box<str>>)>,
}

impl Node {
    /// Whether it is a list.
    pub fn is_list(&self) -> bool {
        matches!(self.kind, NodeKind::List(_))
    }

    /// Whether it is a leaf-list.
    pub fn is_leaf_list(&self) -> bool {
        matches!(self.kind, NodeKind::LeafList(_))
    }

    /// Whether it is a container without presence.
    pub fn is_np_container(&self) -> bool {
        matches!(self.kind, NodeKind::Container { presence: false })
    }

    /// The type and so on, for a leaf or leaf-list.
    pub fn as_value(&self) -> Option<&ValueNode> {
        match &self.kind {
            NodeKind::Leaf(value) | NodeKind::LeafList(value) => Some(value),
            _ => None,
        }
    }

    /// The keys and so on, for a list.
    pub fn as_list(&self) -> Option<&ListNode> {
        match &self.kind {
            NodeKind::List(list) => Some(list),
            _ => None,
        }
    }

    /// The key leaves of a list, none for anything else.
    pub fn keys(&self) -> &[NodeId] {
        self.as_list().map_or(&[], |list| &list.keys)
    }

    /// Whether entries of this list or leaf-list are kept in the order they were given: those
    /// ordered by user, keyless lists, and state leaf-lists (which may hold a value twice).
    pub fn is_positional(&self) -> bool {
        match &self.kind {
            NodeKind::List(list) => list.keys.is_empty() || list.ordering == Ordering::User,
            NodeKind::LeafList(value) => value.ordering == Ordering::User || !self.is_config,
            _ => false,
        }
    }
}
