//! Finds nodes of a generated document by path, and selects among their descendants.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::document::{Content, Element, ModuleNames};
use crate::restconf::error::{Failure, Result};

/// The node at a path (`api-path` of RFC 8040 §3.5.3), with the module of its name. A list entry is
/// returned as a list with that entry.
pub(in crate::restconf) fn find(documents: &[&Element], path: &str) -> Result<Element> {
    let missing = || Failure::not_found(format!("there is no “{path}”"));
    let mut level: Vec<Element> = documents.iter().map(|&top| top.clone()).collect();
    let mut names: Option<ModuleNames> = None;
    let mut found = None;
    for segment in path.split('/') {
        if let Some(element) = found.take() {
            level = children(element).ok_or_else(missing)?;
        }
        let (name, keys) = split_segment(segment)?;
        let index = level
            .iter()
            .position(|element| is_named(element, &name, names.as_ref()))
            .ok_or_else(missing)?;
        let mut element = level.swap_remove(index);
        names = element.names.take().or(names);
        element.names = names.clone();
        if let Some(keys) = keys {
            element.content = entry(element.content, &keys).ok_or_else(missing)?;
        }
        found = Some(element);
    }
    found.ok_or_else(missing)
}

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
        Content::List(keys, entries) => {
            Content::List(keys, entries.into_iter().map(children).collect())
        }
        leaf => leaf,
    }
}

fn children(element: Element) -> Option<Vec<Element>> {
    match element.content {
        Content::Container(children) => Some(children),
        Content::List(_, mut entries) if entries.len() == 1 => entries.pop(),
        _ => None,
    }
}

fn is_named(element: &Element, name: &str, above: Option<&ModuleNames>) -> bool {
    match name.split_once(':') {
        Some((module, name)) => {
            let names = element.names.as_ref().or(above);
            element.name == name && names.is_some_and(|names| names.module == module)
        }
        None => element.name == name && element.names.is_none(),
    }
}

fn entry(content: Content, key_values: &[Cow<'_, str>]) -> Option<Content> {
    match content {
        Content::List(keys, entries) if keys.len() == key_values.len() => {
            let is_it = |entry: &Vec<Element>| {
                let mut pairs = keys.iter().zip(key_values);
                pairs.all(|(key, value)| key_of(entry, key).as_deref() == Some(value))
            };
            let entry = entries.into_iter().find(is_it)?;
            Some(Content::List(keys, vec![entry]))
        }
        Content::LeafList(values) => {
            let [wanted] = key_values else { return None };
            let value = values.into_iter().find(|value| value.as_key() == *wanted)?;
            Some(Content::LeafList(vec![value]))
        }
        _ => None,
    }
}

fn key_of<'e>(entry: &'e [Element], key: &str) -> Option<Cow<'e, str>> {
    entry.iter().find_map(|leaf| match &leaf.content {
        Content::Leaf(value) if leaf.name == key => Some(value.as_key()),
        _ => None,
    })
}

/// The name and the keys, if any, of a path segment.
type Segment<'p> = (Cow<'p, str>, Option<Vec<Cow<'p, str>>>);

fn split_segment(segment: &str) -> Result<Segment<'_>> {
    let (name, keys) = match segment.split_once('=') {
        Some((name, keys)) => (name, Some(keys)),
        None => (segment, None),
    };
    let keys = keys.map(|keys| keys.split(',').map(decode).collect());
    Ok((decode(name)?, keys.transpose()?))
}

fn decode(text: &str) -> Result<Cow<'_, str>> {
    percent_decode_str(text)
        .decode_utf8()
        .map_err(|_| Failure::invalid("the path is not UTF-8"))
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
        Content::List(keys, entries) => {
            let entries = entries
                .into_iter()
                .map(|entry| select_children(entry, fields, depth));
            Ok(Content::List(keys, entries.collect::<Result<_>>()?))
        }
        _ => Err(Failure::invalid("“fields” selects below a leaf")),
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
    use crate::restconf::server_description::document::PrintLevels;

    fn document() -> Element {
        let entry = |name: &str| vec![Element::leaf("name", name), Element::leaf("x", "1")];
        let list = Element::new(
            "item",
            Content::List(&["name"], vec![entry("a"), entry("b/c")]),
        );
        Element::container("top", vec![list, Element::leaf("y", "2")])
            .of(ModuleNames::constant("m", "urn:m"))
    }

    fn get(path: &str, fields: Option<&str>) -> Option<String> {
        let mut element = find(&[&document()], path).ok()?;
        if let Some(fields) = fields {
            element = select_fields(element, fields, None).ok()?;
        }
        Some(element.print(Format::Json, PrintLevels { depth: None }))
    }

    #[test]
    fn paths_find_nodes() {
        let table = [
            ("m:top/y", Some(r#"{"m:y":"2"}"#)),
            ("m:top/m:y", Some(r#"{"m:y":"2"}"#)),
            (
                "m:top/item=b%2Fc",
                Some(r#"{"m:item":[{"name":"b/c","x":"1"}]}"#),
            ),
            ("m:top/item=a/x", Some(r#"{"m:x":"1"}"#)),
            ("m:top/item=z", None),
            ("m:top/y=1", None),
            ("top", None),
            ("n:top", None),
        ];
        for (path, expected) in table {
            assert_eq!(get(path, None).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn fields_select() {
        let table = [
            ("y", Some(r#"{"m:top":{"y":"2"}}"#)),
            (
                "item/x",
                Some(r#"{"m:top":{"item":[{"x":"1"},{"x":"1"}]}}"#),
            ),
            (
                "y;item(name)",
                Some(r#"{"m:top":{"item":[{"name":"a"},{"name":"b/c"}],"y":"2"}}"#),
            ),
            ("y/z", None),
            ("item(", None),
            (
                "item;y",
                Some(r#"{"m:top":{"item":[{"name":"a","x":"1"},{"name":"b/c","x":"1"}],"y":"2"}}"#),
            ),
            ("item(x", None),
            ("y)", None),
            ("", None),
        ];
        for (fields, expected) in table {
            assert_eq!(get("m:top", Some(fields)).as_deref(), expected, "{fields}");
        }
        let shallow =
            select_fields(find(&[&document()], "m:top").unwrap(), "item", Some(1)).unwrap();
        let text = shallow.print(Format::Json, PrintLevels { depth: None });
        assert_eq!(text, r#"{"m:top":{"item":[{},{}]}}"#);
    }
}
