//! Builds a data tree of one node from its path and the text of its value.

use espalier_yang::data::{Content, DataNode, DataTree};
use espalier_yang::schema::ModuleNames;
use espalier_yang::{DataError, InstancePath, Keys, NodeId, NodeKind, Schema, Value};

use crate::failure::{Failure, Result};

/// The tree of a node and its ancestors, with their keys.
pub fn tree_of(schema: &Schema, path: &InstancePath, value: Option<&str>) -> Result<DataTree> {
    let Some((last, above)) = path.steps.split_last() else {
        return Err(Failure::usage("set needs the path of one node").hint("name a leaf"));
    };
    let name = || path.to_instance_identifier(schema);
    let names = ModuleNames {
        leaf_module: schema.node(last.node).module,
    };
    let mut node = match (&schema.node(last.node).kind, &last.keys, value) {
        (NodeKind::Leaf(leaf) | NodeKind::LeafList(leaf), Keys::None, Some(text)) => {
            let value = leaf
                .value_type
                .parse(schema, text, &names)
                .map_err(|error| {
                    let message = format!("{}: {}", name(), error.message);
                    Failure::data(message).detail(DataError::from(error).at(name()))
                })?;
            DataNode::new(last.node, Content::Value(value))
        }
        (NodeKind::LeafList(_), Keys::Values(values), None) if values.len() == 1 => {
            DataNode::new(last.node, Content::Value(values[0].clone()))
        }
        (NodeKind::Container { .. } | NodeKind::List(_), keys, None) => {
            inner(schema, last.node, keys, None)?
        }
        (NodeKind::Leaf(_) | NodeKind::LeafList(_), _, None) => {
            return Err(
                Failure::usage(format!("{} needs a value", name())).hint("espalier set PATH VALUE")
            );
        }
        _ => {
            return Err(Failure::usage(format!("{} takes no value", name()))
                .hint("use `espalier edit` to change several nodes at once"));
        }
    };
    for step in above.iter().rev() {
        node = inner(schema, step.node, &step.keys, Some(node))?;
    }
    Ok(DataTree { nodes: vec![node] })
}

/// A container or list entry with its keys and at most one child.
fn inner(schema: &Schema, id: NodeId, keys: &Keys, child: Option<DataNode>) -> Result<DataNode> {
    let values: &[Value] = match keys {
        Keys::Values(values) => values,
        _ => &[],
    };
    let names = schema.node(id).keys();
    if names.len() != values.len() || (names.is_empty() && schema.node(id).is_list()) {
        let name = &schema.node(id).name;
        return Err(
            Failure::usage(format!("the path must select an entry of the list {name}")).hint(
                format!(
                    "write {name}=KEY, or {name}[{}='KEY']",
                    first_key(schema, names)
                ),
            ),
        );
    }
    let mut children = Vec::with_capacity(names.len() + usize::from(child.is_some()));
    for (&name, value) in names.iter().zip(values) {
        children.push(DataNode::new(name, Content::Value(value.clone())));
    }
    children.extend(child);
    Ok(DataNode::new(id, Content::Inner(children)))
}

fn first_key<'a>(schema: &'a Schema, names: &[NodeId]) -> &'a str {
    names.first().map_or("key", |&name| &schema.node(name).name)
}
