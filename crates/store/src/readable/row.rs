//! Rendering one row of a tree for people.

use espalier_keyspace::ReadableRow;
use espalier_yang::data::json::{write_string, write_value};
use espalier_yang::{NodeId, NodeKind, Schema};

use crate::error::Result;
use crate::fragment::{Packed, Reader, take_entry_value};
use crate::tree::TreeState;

/// The content of a row as text; `None` if the schema no longer has its node.
pub(super) fn readable(
    state: TreeState<'_>,
    document: String,
    key: &[u8],
    value: &[u8],
) -> Result<Option<ReadableRow>> {
    let Some(trail) = state.trail(key)? else {
        return Ok(None);
    };
    let schema = state.schema();
    let node = trail.last().map(|point| point.node);
    let mut json = Vec::new();
    match node.map(|node| &schema.node(node).kind) {
        Some(NodeKind::LeafList(_)) => write_value(&mut json, &take_entry_value(value)?),
        _ => write_leaves(&mut json, state, node, value)?,
    }
    let path = state.named_path_of(key, &trail)?;
    let mut kind = String::new();
    for point in &trail {
        kind.push('/');
        kind.push_str(&schema.qualified_name(point.node));
    }
    Ok(Some(ReadableRow {
        document,
        node: if kind.is_empty() {
            "/".to_owned()
        } else {
            kind
        },
        path: path.to_instance_identifier(schema),
        json: String::from_utf8_lossy(&json).into_owned(),
    }))
}

/// Writes the leaves of a fragment as an object. A name is qualified if its module is not that of the parent
/// node (RFC 7951 §4).
fn write_leaves(
    json: &mut Vec<u8>,
    state: TreeState<'_>,
    node: Option<NodeId>,
    value: &[u8],
) -> Result<()> {
    let (schema, layout) = (state.schema(), state.layout());
    json.push(b'{');
    for leaf in Reader::new(value) {
        let (id, packed) = leaf?;
        let Some(leaf) = layout.child(node, id) else {
            continue;
        };
        if json.len() > 1 {
            json.push(b',');
        }
        write_string(json, &member(schema, node, leaf));
        json.push(b':');
        match packed {
            Packed::Value(value) => write_value(json, &value),
            Packed::Any(text) => json.extend_from_slice(text.as_bytes()),
        }
    }
    json.push(b'}');
    Ok(())
}

fn member(schema: &Schema, parent: Option<NodeId>, leaf: NodeId) -> String {
    let leaf = schema.node(leaf);
    let is_same = parent.is_some_and(|parent| schema.node(parent).module == leaf.module);
    match is_same {
        true => leaf.name.to_string(),
        false => format!("{}:{}", schema.module(leaf.module).name, leaf.name),
    }
}
