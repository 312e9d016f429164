//! The parsed filter.

use std::fmt;

use crate::error::{DataError, ErrorTag};
use crate::schema::{ModuleNames, NodeId, NodeKind, Schema, XmlPrefixes};
use crate::value::Value;

/// The maximum nesting of a filter.
pub const SUBTREE_FILTER_DEPTH_MAX: usize = 100;

/// The maximum number of elements of a filter.
pub const SUBTREE_FILTER_NODES_MAX: usize = 100_000;

/// A subtree filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubtreeFilter {
    /// The outermost nodes, each of which selects by itself. A filter without nodes selects nothing (RFC 6241 §6.4.2).
    pub(super) nodes: Vec<FilterNode>,
}

/// An element of a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterNode {
    /// The namespace; `None` for any (RFC 6241 §6.2.1).
    pub(super) namespace: Option<Box<str>>,
    pub(super) name: Box<str>,
    pub(super) content: FilterContent,
    /// Whether it has attributes to be matched (§6.2.2).
    pub(super) has_attributes: bool,
}

/// The kind of an element of a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterContent {
    /// Selects the node with everything below it (RFC 6241 §6.2.4).
    Selection,
    /// The node must have this value (§6.2.5).
    ContentMatch(ContentMatch),
    /// Selects what its children select (§6.2.3).
    Containment(Vec<FilterNode>),
}

/// The text of a content match node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentMatch {
    pub(super) text: Box<str>,
    pub(super) names: ValueNames,
}

/// How the names in a value are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ValueNames {
    /// With module names (RFC 7951 §6.8).
    Modules,
    /// With these prefixes of the document.
    Prefixes(Box<[NamespaceBinding]>),
}

/// A namespace declaration that is in scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceBinding {
    /// The prefix; `None` for the default namespace.
    pub prefix: Option<Box<str>>,
    /// The namespace.
    pub namespace: Box<str>,
}

impl SubtreeFilter {
    /// The outermost nodes.
    pub fn nodes(&self) -> &[FilterNode] {
        &self.nodes
    }
}

impl FilterNode {
    /// The namespace; `None` for any (RFC 6241 §6.2.1).
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Its kind.
    pub fn content(&self) -> &FilterContent {
        &self.content
    }

    /// Whether it is a content match node.
    pub fn is_content_match(&self) -> bool {
        matches!(self.content, FilterContent::ContentMatch(_))
    }

    /// The data nodes below `parent` that it names, several if its namespace is any. None for a node with attributes,
    /// because no data node has any but annotations.
    pub fn schema_nodes(&self, schema: &Schema, parent: Option<NodeId>) -> Vec<NodeId> {
        if self.has_attributes {
            return Vec::new();
        }
        let is_data = |&id: &NodeId| is_data(&schema.node(id).kind);
        if let Some(namespace) = &self.namespace {
            let module = schema.module_by_namespace(namespace);
            let found = module.and_then(|module| schema.child(parent, module, &self.name));
            return found.filter(is_data).into_iter().collect();
        }
        let children = parent.map_or(schema.roots(), |parent| &schema.node(parent).children);
        let is_named = |&id: &NodeId| schema.node(id).name == self.name;
        let named = children.iter().copied().filter(is_named);
        named.filter(is_data).collect()
    }

    /// Whether a node has its name.
    pub(super) fn is_named(&self, schema: &Schema, node: NodeId) -> bool {
        let node = schema.node(node);
        let namespace = &schema.module(node.module).namespace;
        let is_in = |wanted: &str| wanted == &**namespace;
        self.name == node.name && self.namespace.as_deref().is_none_or(is_in)
    }
}

fn is_data(kind: &NodeKind) -> bool {
    matches!(
        kind,
        NodeKind::Container { .. }
            | NodeKind::List(_)
            | NodeKind::Leaf(_)
            | NodeKind::LeafList(_)
            | NodeKind::AnyData
            | NodeKind::AnyXml
    )
}

impl ContentMatch {
    /// The value for a leaf or leaf-list, in canonical form; `None` if its type does not have it. The prefix of an
    /// identity is that of the document; undeclared prefixes are read as names of modules.
    pub fn value(&self, schema: &Schema, node: NodeId) -> Option<Value> {
        let node = schema.node(node);
        let value_type = &node.as_value()?.value_type;
        let own = ModuleNames {
            leaf_module: node.module,
        };
        let ValueNames::Prefixes(prefixes) = &self.names else {
            return value_type.parse(schema, &self.text, &own).ok();
        };
        let namespace = |prefix: Option<&str>| {
            let declared = prefixes
                .iter()
                .find(|binding| binding.prefix.as_deref() == prefix);
            let module = || match prefix {
                Some(name) => schema.module_by_name(name),
                None => Some(node.module),
            };
            match declared {
                Some(binding) => Some(&*binding.namespace),
                None => module().map(|module| &*schema.module(module).namespace),
            }
        };
        let parse = |text: &str| value_type.parse(schema, text, &XmlPrefixes(namespace)).ok();
        parse(&self.text).or_else(|| parse(&decimal(&self.text)?))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// The decimal form of a hexadecimal number, which clients send although instance data has none (RFC 7950 §9.2.1).
fn decimal(text: &str) -> Option<String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.strip_prefix("0x").or(digits.strip_prefix("0X"))?;
    let number = u64::from_str_radix(digits, 16).ok()?;
    Some(format!("{sign}{number}"))
}

/// Counts the elements of a filter while it is parsed.
#[derive(Debug, Default)]
pub(super) struct Size {
    nodes: usize,
}

impl Size {
    /// Counts an element.
    ///
    /// # Errors
    /// `too-big` beyond [`SUBTREE_FILTER_DEPTH_MAX`] or [`SUBTREE_FILTER_NODES_MAX`].
    pub fn add(&mut self, depth: usize) -> Result<(), DataError> {
        self.nodes += 1;
        match (
            depth > SUBTREE_FILTER_DEPTH_MAX,
            self.nodes > SUBTREE_FILTER_NODES_MAX,
        ) {
            (true, _) => Err(too_big(SUBTREE_FILTER_DEPTH_MAX, "levels")),
            (_, true) => Err(too_big(SUBTREE_FILTER_NODES_MAX, "elements")),
            _ => Ok(()),
        }
    }
}

fn too_big(most: usize, of: impl fmt::Display) -> DataError {
    let message = format!("a filter has at most {most} {of}");
    DataError::new(ErrorTag::TooBig, message)
}
