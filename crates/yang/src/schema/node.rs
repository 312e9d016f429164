//! The nodes of a schema.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::schema::{ModuleId, Type};
use crate::value::Value;

/// The id of a schema node: an index into one [`crate::Schema`] value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct NodeId(pub u32);

/// `ordered-by` (RFC 7950 §7.7.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ordering {
    /// The system decides: here, the order of the keys.
    System,
    /// The user decides, and the order is stored.
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
    /// The expression, as in the model.
    pub text: Box<str>,
    /// The parsed expression; module names instead of prefixes.
    pub expression: crate::xpath::Expression,
    /// `error-message`.
    pub error_message: Option<Box<str>>,
    /// `error-app-tag`.
    pub error_app_tag: Option<Box<str>>,
    /// For a `when` of an `augment`, `uses`, `choice` or `case`: the number of data-tree levels from the node up to the
    /// context node (RFC 7950 §7.21.5).
    pub context_levels_up: u8,
}

/// The kind of a node, with the properties of that kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum NodeKind {
    /// A container.
    Container {
        /// Whether it is a presence container.
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

/// The properties of a list.
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
    /// The leaves of each `unique` statement, in order.
    pub unique: Vec<Vec<NodeId>>,
}

/// The properties of a leaf or leaf-list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ValueNode {
    /// The type, shared by all leaves of the same type.
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

/// A choice, and the case of it that contains a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseChoice {
    /// The choice: the index of [`crate::Schema::choices`].
    pub choice: u32,
    /// The case: the index within the choice.
    pub case: u32,
}

/// A schema node that has data: all but `choice` and `case`, which are in [`Node::cases`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Node {
    /// Its id.
    pub id: NodeId,
    /// The kind, with its properties.
    pub kind: NodeKind,
    /// Its name.
    pub name: Box<str>,
    /// The module of its namespace.
    pub module: ModuleId,
    /// The parent in the data tree; `None` at the top level.
    pub parent: Option<NodeId>,
    /// The children in the data tree, in schema order (keys first), those of choices included.
    pub children: Vec<NodeId>,
    /// The choices that contain it, outermost first.
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
    /// `when` statements, its own and those inherited from augment, uses, choice and case.
    pub whens: Vec<Constraint>,
    /// Extension instances: `module:name` of the extension, and the argument.
    pub extensions: Vec<(Box<str>, Option<Box<str>>)>,
}

impl Node {
    /// Returns whether it is a list.
    pub fn is_list(&self) -> bool {
        matches!(self.kind, NodeKind::List(_))
    }

    /// Returns whether it is a leaf-list.
    pub fn is_leaf_list(&self) -> bool {
        matches!(self.kind, NodeKind::LeafList(_))
    }

    /// Returns whether it is a container without presence.
    pub fn is_np_container(&self) -> bool {
        matches!(self.kind, NodeKind::Container { presence: false })
    }

    /// The properties of a leaf or leaf-list.
    pub fn as_value(&self) -> Option<&ValueNode> {
        match &self.kind {
            NodeKind::Leaf(value) | NodeKind::LeafList(value) => Some(value),
            _ => None,
        }
    }

    /// The properties of a list.
    pub fn as_list(&self) -> Option<&ListNode> {
        match &self.kind {
            NodeKind::List(list) => Some(list),
            _ => None,
        }
    }

    /// The key leaves of a list; empty for other nodes.
    pub fn keys(&self) -> &[NodeId] {
        self.as_list().map_or(&[], |list| &list.keys)
    }

    /// Returns whether entries of this list or leaf-list keep their insertion order: `ordered-by user` lists, keyless
    /// lists, and state leaf-lists (which may contain a value twice).
    pub fn is_positional(&self) -> bool {
        match &self.kind {
            NodeKind::List(list) => list.keys.is_empty() || list.ordering == Ordering::User,
            NodeKind::LeafList(value) => value.ordering == Ordering::User || !self.is_config,
            _ => false,
        }
    }
}
