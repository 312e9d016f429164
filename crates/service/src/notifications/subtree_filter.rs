//! Subtree filters (RFC 6241 §6), for events: whether a filter selects anything of a notification.

use espalier_yang::data::{Content, DataNode, DataTree};
use espalier_yang::{DataError, ErrorTag, Schema};
use quick_xml::events::{BytesStart, Event as Token};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;
use serde_json::Value as Json;

/// The maximum nesting of a filter.
pub const SUBTREE_FILTER_DEPTH_MAX: usize = 100;

/// A subtree filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubtreeFilter {
    /// The outermost nodes. A filter without nodes selects nothing (RFC 6241 §6.4.2).
    nodes: Vec<FilterNode>,
}

/// An element of a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FilterNode {
    /// The namespace; `None` for any (RFC 6241 §6.2.1).
    namespace: Option<String>,
    name: String,
    kind: FilterKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum FilterKind {
    /// Selects the node with everything below it (RFC 6241 §6.2.4).
    Selection,
    /// The node must have this value (§6.2.5).
    ContentMatch(String),
    /// Selects what its children select (§6.2.3).
    Containment(Vec<FilterNode>),
}

impl SubtreeFilter {
    /// Parses the content of a `filter` element.
    ///
    /// # Errors
    /// `malformed-message` for text that is no XML; `too-big` beyond [`SUBTREE_FILTER_DEPTH_MAX`].
    pub fn parse_xml(text: &str) -> Result<Self, DataError> {
        let mut reader = NsReader::from_str(text);
        let nodes = parse_children(&mut reader, 0)?.0;
        Ok(Self { nodes })
    }

    /// The filter in the only element of this one.
    pub(super) fn within(mut self) -> Self {
        let nodes = match self.nodes.pop().map(|element| element.kind) {
            Some(FilterKind::Containment(nodes)) => nodes,
            _ => Vec::new(),
        };
        Self { nodes }
    }

    /// Parses a filter that is an object: members with values are content match nodes, members without are selection
    /// nodes. Names have their modules as in RFC 7951, which are those of the first schema that has them; a name without a
    /// module is that of any.
    ///
    /// # Errors
    /// `malformed-message` for text that is no object; `unknown-namespace`; `too-big` beyond
    /// [`SUBTREE_FILTER_DEPTH_MAX`].
    pub fn parse_json(schemas: &[&Schema], text: &str) -> Result<Self, DataError> {
        let object = serde_json::from_str::<Json>(text).map_err(|error| {
            let message = format!("the filter is no JSON: {error}");
            DataError::new(ErrorTag::MalformedMessage, message)
        })?;
        match &object {
            Json::Object(_) => {
                let nodes = parse_members(schemas, &object, None, 0)?;
                Ok(Self { nodes })
            }
            _ => {
                let message = "the filter is no object";
                Err(DataError::new(ErrorTag::MalformedMessage, message))
            }
        }
    }

    /// Whether the filter selects anything of a tree.
    pub fn matches(&self, schema: &Schema, tree: &DataTree) -> bool {
        let mut nodes = self.nodes.iter();
        nodes.any(|node| node.selects(schema, &tree.nodes))
    }
}

impl FilterNode {
    /// Whether it selects anything among these siblings.
    fn selects(&self, schema: &Schema, siblings: &[DataNode]) -> bool {
        let mut siblings = siblings.iter();
        siblings.any(|node| self.is_named(schema, node) && self.selects_in(schema, node))
    }

    fn selects_in(&self, schema: &Schema, node: &DataNode) -> bool {
        match &self.kind {
            FilterKind::Selection => true,
            FilterKind::ContentMatch(text) => node
                .value()
                .is_some_and(|value| matches_text(&value.to_string(), text)),
            FilterKind::Containment(children) => {
                let Content::Inner(inside) = &node.content else {
                    return false;
                };
                let (conditions, selections): (Vec<_>, Vec<_>) =
                    children.iter().partition(|child| child.is_content_match());
                let holds = |condition: &&FilterNode| condition.selects(schema, inside);
                conditions.iter().all(holds)
                    && (selections.is_empty() || selections.iter().any(holds))
            }
        }
    }

    fn is_content_match(&self) -> bool {
        matches!(self.kind, FilterKind::ContentMatch(_))
    }

    fn is_named(&self, schema: &Schema, node: &DataNode) -> bool {
        let node = schema.node(node.node);
        let namespace = &schema.module(node.module).namespace;
        let is_in = |wanted: &String| **wanted == **namespace;
        self.name == *node.name && self.namespace.as_ref().is_none_or(is_in)
    }
}

/// Whether a value is that of a content match node. An identity is compared without its module, as its prefix in the
/// filter is not that of the module.
fn matches_text(value: &str, text: &str) -> bool {
    let local = |text: &str| text.rsplit(':').next().unwrap_or_default().to_owned();
    value == text || (value.contains(':') && text.contains(':') && local(value) == local(text))
}

/// The nodes that the members of an object are. A name without a module is in the module of the object.
fn parse_members(
    schemas: &[&Schema],
    object: &Json,
    within: Option<&str>,
    depth: usize,
) -> Result<Vec<FilterNode>, DataError> {
    let mut nodes = Vec::new();
    for (name, value) in object.as_object().into_iter().flatten() {
        let (namespace, name) = match name.split_once(':') {
            None => (within.map(str::to_owned), name.as_str()),
            Some((module, name)) => {
                let namespace = namespace_of(schemas, module).ok_or_else(|| {
                    let message = format!("the filter has an unknown module “{module}”");
                    DataError::new(ErrorTag::UnknownNamespace, message)
                })?;
                (Some(namespace), name)
            }
        };
        let single = std::slice::from_ref(value);
        let values = value.as_array().map_or(single, Vec::as_slice);
        for value in values {
            let kind = member_kind(schemas, value, namespace.as_deref(), depth + 1)?;
            let (namespace, name) = (namespace.clone(), name.to_owned());
            nodes.push(FilterNode {
                namespace,
                name,
                kind,
            });
        }
    }
    Ok(nodes)
}

/// The namespace of a module.
fn namespace_of(schemas: &[&Schema], module: &str) -> Option<String> {
    let found = |schema: &&Schema| {
        let id = schema.module_by_name(module)?;
        Some(schema.module(id).namespace.to_string())
    };
    schemas.iter().find_map(found)
}

/// What a member of an object is.
fn member_kind(
    schemas: &[&Schema],
    value: &Json,
    namespace: Option<&str>,
    depth: usize,
) -> Result<FilterKind, DataError> {
    if depth > SUBTREE_FILTER_DEPTH_MAX {
        return Err(too_deep());
    }
    Ok(match value {
        Json::Null | Json::Array(_) => FilterKind::Selection,
        Json::Object(object) if object.is_empty() => FilterKind::Selection,
        Json::String(text) if text.is_empty() => FilterKind::Selection,
        Json::Object(_) => {
            FilterKind::Containment(parse_members(schemas, value, namespace, depth)?)
        }
        Json::String(text) => FilterKind::ContentMatch(text.clone()),
        Json::Bool(_) | Json::Number(_) => FilterKind::ContentMatch(value.to_string()),
    })
}

fn too_deep() -> DataError {
    let message = format!("a filter has at most {SUBTREE_FILTER_DEPTH_MAX} levels");
    DataError::new(ErrorTag::TooBig, message)
}

/// Parses sibling elements up to the end of their parent; returns the text between them too.
fn parse_children(
    reader: &mut NsReader<&[u8]>,
    depth: usize,
) -> Result<(Vec<FilterNode>, String), DataError> {
    if depth > SUBTREE_FILTER_DEPTH_MAX {
        return Err(too_deep());
    }
    let (mut nodes, mut text) = (Vec::new(), String::new());
    loop {
        match reader.read_event().map_err(malformed)? {
            Token::Start(start) => {
                let (namespace, name) = names(reader, &start)?;
                let (children, content) = parse_children(reader, depth + 1)?;
                let kind = match (children.is_empty(), content.trim()) {
                    (true, "") => FilterKind::Selection,
                    (true, content) => FilterKind::ContentMatch(content.to_owned()),
                    (false, _) => FilterKind::Containment(children),
                };
                nodes.push(FilterNode {
                    namespace,
                    name,
                    kind,
                });
            }
            Token::Empty(start) => {
                let (namespace, name) = names(reader, &start)?;
                let kind = FilterKind::Selection;
                nodes.push(FilterNode {
                    namespace,
                    name,
                    kind,
                });
            }
            Token::Text(part) => text.push_str(&part.xml10_content()),
            Token::CData(part) => text.push_str(&part.xml10_content()),
            Token::GeneralRef(reference) => text.push(resolved(&reference)?),
            Token::End(_) => return Ok((nodes, text)),
            Token::Eof if depth == 0 => return Ok((nodes, text)),
            Token::Eof => return Err(malformed("it ends within an element")),
            Token::DocType(_) => return Err(malformed("it has a document type")),
            Token::Comment(_) | Token::Decl(_) | Token::PI(_) => {}
        }
    }
}

/// The character of a reference.
fn resolved(reference: &quick_xml::events::BytesRef<'_>) -> Result<char, DataError> {
    if let Some(character) = reference.resolve_char_ref().map_err(malformed)? {
        return Ok(character);
    }
    let name: &str = reference;
    let character = quick_xml::escape::resolve_predefined_entity(name);
    character
        .and_then(|text| text.chars().next())
        .ok_or_else(|| malformed(format!("the entity {name} is not known")))
}

/// The namespace and the name of an element.
fn names(
    reader: &NsReader<&[u8]>,
    start: &BytesStart<'_>,
) -> Result<(Option<String>, String), DataError> {
    let (resolved, local) = reader.resolver().resolve_element(start.name());
    let namespace = match resolved {
        ResolveResult::Bound(namespace) if !namespace.as_ref().is_empty() => {
            Some(namespace.as_ref().to_owned())
        }
        ResolveResult::Bound(_) | ResolveResult::Unbound => None,
        ResolveResult::Unknown(prefix) => {
            return Err(malformed(format!("the prefix {prefix} is not declared")));
        }
    };
    Ok((namespace, local.as_ref().to_owned()))
}

fn malformed(reason: impl std::fmt::Display) -> DataError {
    let message = format!("the filter is no XML: {reason}");
    DataError::new(ErrorTag::MalformedMessage, message)
}
