//! `sort-by` (draft-ietf-netconf-list-pagination §3.1.2): a leaf of the entries.

use espalier_yang::schema::Node;
use espalier_yang::{DataError, NodeId, NodeKind, Schema};

use super::parameters::{PageNames, invalid};

/// The leaf whose values give the order of the entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SortKey {
    /// The containers between the entry and the leaf.
    pub containers: Vec<NodeId>,
    /// The leaf; of a leaf-list, itself.
    pub leaf: NodeId,
}

impl SortKey {
    /// The leaf that a descendant-schema-nodeid (RFC 7950 §6.5) names. A leaf-list is sorted by its own name.
    ///
    /// # Errors
    /// `invalid-value` if it names no leaf, or one of several entries of a list below.
    pub fn parse(
        schema: &Schema,
        target: &Node,
        text: &str,
        names: &PageNames<'_>,
    ) -> Result<Self, DataError> {
        let wrong = || {
            let message = format!(
                "“{text}” is no leaf of the entries of {}",
                schema.path(target.id)
            );
            invalid("sort-by", message)
        };
        if target.is_leaf_list() {
            let is_own = is_named(schema, target, text, names);
            return is_own
                .then(|| Self::of_leaf_list(target.id))
                .ok_or_else(wrong);
        }
        let (mut containers, mut place) = (Vec::new(), target);
        let mut parts = text.split('/').peekable();
        while let Some(part) = parts.next() {
            let children = place.children.iter().map(|&child| schema.node(child));
            let mut named = children.filter(|child| is_named(schema, child, part, names));
            let found = named.next().ok_or_else(wrong)?;
            match (&found.kind, parts.peek()) {
                (NodeKind::Leaf(_), None) => {
                    let leaf = found.id;
                    return Ok(Self { containers, leaf });
                }
                (NodeKind::Container { .. }, Some(_)) => containers.push(found.id),
                _ => return Err(wrong()),
            }
            place = found;
        }
        Err(wrong())
    }

    fn of_leaf_list(leaf: NodeId) -> Self {
        Self {
            containers: Vec::new(),
            leaf,
        }
    }

    /// Whether the entries of a list are in the order of this leaf.
    pub fn is_order_of(&self, target: &Node) -> bool {
        let first = match target.is_leaf_list() {
            true => Some(target.id),
            false => target.keys().first().copied(),
        };
        !target.is_positional() && self.containers.is_empty() && first == Some(self.leaf)
    }
}

fn is_named(schema: &Schema, node: &Node, part: &str, names: &PageNames<'_>) -> bool {
    let (prefix, name) = match part.split_once(':') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, part),
    };
    let module = prefix.map(|prefix| names.module_of(schema, prefix));
    *node.name == *name && module.is_none_or(|module| *schema.module(node.module).name == *module)
}
