//! Selects among the nodes of a generated document.

use super::document::{Content, Element};
use crate::restconf::error::{Failure, Result};

/// The node with only the descendants that `fields` selects (RFC 8040 §4.8.3), each to a depth that starts
/// at itself (§4.8.2).
pub(in crate::restconf) fn select_fields(
    mut element: Element,
    fields: &str,
    depth: Option<u32>,
) -> Result<Element> {
    let (fields, rest) = parse_fields(fields)?;
    if !rest.is_empty() {
        return Err(Failure::invalid(format!("unexpected “{rest}” in “fields”")));
    }
    element.content = select(element.content, &fields, depth)?;
    Ok(element)
}

/// Truncates content to this many levels, including the node itself.
fn truncate(content: Content, depth: u32) -> Content {
    let children = |children: Vec<Element>| match depth {
        0 | 1 => Vec::new(),
        _ => children
            .into_iter()
            .map(|child| Element {
                content: truncate(child.content, depth - 1),
                ..child
            })
            .collect(),
    };
    match content {
        Content::Container(below) => Content::Container(children(below)),
        leaf @ Content::Leaf(_) => leaf,
    }
}

/// A field of `fields`: a name, and the selected fields below it (all, if empty).
struct Field<'f> {
    name: &'f str,
    below: Vec<Field<'f>>,
}

/// Parses `path *(";" path)`, up to the end or a closing parenthesis.
fn parse_fields(text: &str) -> Result<(Vec<Field<'_>>, &str)> {
    let mut fields = Vec::new();
    let mut rest = text;
    loop {
        let (field, after) = parse_field(rest)?;
        fields.push(field);
        match after.strip_prefix(';') {
            Some(after) => rest = after,
            None => return Ok((fields, after)),
        }
    }
}

fn parse_field(text: &str) -> Result<(Field<'_>, &str)> {
    let end = text.find([';', '/', '(', ')']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if name.is_empty() {
        return Err(Failure::invalid("a name is missing in “fields”"));
    }
    let (below, rest) = if let Some(rest) = rest.strip_prefix('/') {
        let (field, rest) = parse_field(rest)?;
        (vec![field], rest)
    } else if let Some(rest) = rest.strip_prefix('(') {
        let (fields, rest) = parse_fields(rest)?;
        let unclosed = || Failure::invalid("a “)” is missing in “fields”");
        (fields, rest.strip_prefix(')').ok_or_else(unclosed)?)
    } else {
        (Vec::new(), rest)
    };
    Ok((Field { name, below }, rest))
}

fn select(content: Content, fields: &[Field<'_>], depth: Option<u32>) -> Result<Content> {
    match content {
        Content::Container(children) => {
            let selected = select_children(children, fields, depth)?;
            Ok(Content::Container(selected))
        }
        Content::Leaf(_) => Err(Failure::invalid("“fields” selects below a leaf")),
    }
}

fn select_children(
    children: Vec<Element>,
    fields: &[Field<'_>],
    depth: Option<u32>,
) -> Result<Vec<Element>> {
    let mut selected = Vec::new();
    for mut child in children {
        let named = |field: &&Field<'_>| {
            let name = field
                .name
                .split_once(':')
                .map_or(field.name, |(_, name)| name);
            child.name == name
        };
        let Some(field) = fields.iter().find(named) else {
            continue;
        };
        if !field.below.is_empty() {
            child.content = select(child.content, &field.below, depth)?;
        } else if let Some(depth) = depth {
            child.content = truncate(child.content, depth);
        }
        selected.push(child);
    }
    Ok(selected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::restconf::media::Format;
    use crate::restconf::server_description::document::{ModuleNames, PrintLevels};

    fn select(fields: &str, depth: Option<u32>) -> Option<String> {
        let item = Element::container("item", vec![Element::leaf("x", "1")]);
        let top = Element::container("top", vec![item, Element::leaf("y", "2")])
            .of(ModuleNames::constant("m", "urn:m"));
        let selected = select_fields(top, fields, depth).ok()?;
        Some(selected.print(Format::Json, PrintLevels { depth: None }))
    }

    #[test]
    fn fields_select() {
        let all = r#"{"m:top":{"item":{"x":"1"},"y":"2"}}"#;
        let table = [
            ("y", None, Some(r#"{"m:top":{"y":"2"}}"#)),
            ("item/x", None, Some(r#"{"m:top":{"item":{"x":"1"}}}"#)),
            ("y;item(x)", None, Some(all)),
            ("item;y", None, Some(all)),
            ("item", Some(1), Some(r#"{"m:top":{"item":{}}}"#)),
            ("y/z", None, None),
            ("item(", None, None),
            ("item(x", None, None),
            ("y)", None, None),
            ("", None, None),
        ];
        for (fields, depth, expected) in table {
            assert_eq!(select(fields, depth).as_deref(), expected, "{fields}");
        }
    }
}
