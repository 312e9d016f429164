//! Prints changes as lines of text or JSON.

use espalier_yang::data::json::{write_string, write_value};
use espalier_yang::{InstancePath, Keys, NodeId, Schema};

use super::node_change::{ChangeKind, Content, NodeChange, Point};

/// Appends a change as one line of text without a line end: `+ path = new`, `- path = old`, `~ path: old ->
/// new`, or `~ path moved after ...`. Values are as in JSON.
pub fn write_change_text(out: &mut Vec<u8>, schema: &Schema, change: &NodeChange) {
    let sign: &[u8] = match change.kind {
        ChangeKind::Created => b"+ ",
        ChangeKind::Deleted => b"- ",
        ChangeKind::Modified | ChangeKind::Moved => b"~ ",
    };
    out.extend_from_slice(sign);
    let path = change.path.to_instance_identifier(schema);
    write_in_line(out, &path);
    let is_entry = change
        .path
        .target()
        .is_some_and(|node| schema.node(node).is_leaf_list());
    match (change.kind, &change.old, &change.new) {
        (ChangeKind::Modified, Some(old), Some(new)) => {
            out.extend_from_slice(b": ");
            write_content(out, old);
            out.extend_from_slice(b" -> ");
            write_content(out, new);
        }
        (_, old, new) if !is_entry || !has_keys(&change.path) => {
            if let Some(content) = old.as_ref().or(new.as_ref()) {
                out.extend_from_slice(b" = ");
                write_content(out, content);
            }
        }
        _ => {}
    }
    if let Some(point) = &change.after {
        let verb: &[u8] = match change.kind {
            ChangeKind::Moved => b" moved",
            _ => b"",
        };
        out.extend_from_slice(verb);
        match point {
            Point::First => out.extend_from_slice(b" first"),
            Point::After(keys) => {
                out.extend_from_slice(b" after ");
                let point = predicates(schema, change.path.target(), keys);
                write_in_line(out, &point);
            }
        }
    }
}

fn has_keys(path: &InstancePath) -> bool {
    matches!(path.steps.last(), Some(step) if matches!(step.keys, Keys::Values(_)))
}

/// Appends a change as one JSON object, in the terms of RFC 8072 §2.5 and RFC 9144: `operation` (`create`,
/// `delete`, `replace` or `move`), `target`, for user-ordered entries `where` and `point`, `value`, and the
/// old value as `source-value`.
pub fn write_change_json(out: &mut Vec<u8>, schema: &Schema, change: &NodeChange) {
    let operation = match change.kind {
        ChangeKind::Created => "create",
        ChangeKind::Deleted => "delete",
        ChangeKind::Modified => "replace",
        ChangeKind::Moved => "move",
    };
    out.extend_from_slice(b"{\"operation\":");
    write_string(out, operation);
    out.extend_from_slice(b",\"target\":");
    write_string(out, &change.path.to_instance_identifier(schema));
    match &change.after {
        Some(Point::First) => out.extend_from_slice(b",\"where\":\"first\""),
        Some(Point::After(keys)) => {
            out.extend_from_slice(b",\"where\":\"after\",\"point\":");
            let mut path = change.path.clone();
            if let Some(last) = path.steps.last_mut() {
                last.keys = keys.clone();
            }
            write_string(out, &path.to_instance_identifier(schema));
        }
        None => {}
    }
    for (name, content) in [("value", &change.new), ("source-value", &change.old)] {
        if let Some(content) = content {
            out.push(b',');
            write_string(out, name);
            out.push(b':');
            write_content(out, content);
        }
    }
    out.push(b'}');
}

/// Appends a text with control characters escaped, because a key may contain newlines.
fn write_in_line(out: &mut Vec<u8>, text: &str) {
    for letter in text.chars() {
        match letter.is_control() {
            true => out.extend(letter.escape_default().map(|letter| letter as u8)),
            false => out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

fn write_content(out: &mut Vec<u8>, content: &Content) {
    match content {
        Content::Value(value) => write_value(out, value),
        Content::Any(json) => out.extend_from_slice(json.as_bytes()),
    }
}

/// The predicates of an entry, as in its path.
fn predicates(schema: &Schema, node: Option<NodeId>, keys: &Keys) -> String {
    let Some(node) = node else {
        return String::new();
    };
    let path = InstancePath::root().child(node, keys.clone());
    let text = path.to_instance_identifier(schema);
    let start = text.find('[').unwrap_or(text.len());
    text[start..].to_owned()
}
