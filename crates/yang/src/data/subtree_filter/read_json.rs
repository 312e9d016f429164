//! Filters that are objects (RFC 7951).

use serde_json::Value as Json;

use super::filter::{ContentMatch, FilterContent, FilterNode, Size, SubtreeFilter, ValueNames};
use crate::error::{DataError, ErrorTag};
use crate::schema::Schema;

impl SubtreeFilter {
    /// Parses a filter that is an object: members with values are content match nodes, members without are selection
    /// nodes. Names have their modules as in RFC 7951, which are those of the first schema that has them; a name without a
    /// module is that of any.
    ///
    /// # Errors
    /// `malformed-message` for text that is no object; `unknown-namespace`; `too-big` beyond
    /// [`SUBTREE_FILTER_DEPTH_MAX`](super::SUBTREE_FILTER_DEPTH_MAX) or
    /// [`SUBTREE_FILTER_NODES_MAX`](super::SUBTREE_FILTER_NODES_MAX).
    pub fn parse_json(schemas: &[&Schema], text: &str) -> Result<Self, DataError> {
        let object = serde_json::from_str::<Json>(text).map_err(|error| {
            let message = format!("the filter is no JSON: {error}");
            DataError::new(ErrorTag::MalformedMessage, message)
        })?;
        match &object {
            Json::Object(_) => {
                let mut reader = ObjectReader {
                    schemas,
                    size: Size::default(),
                };
                let nodes = reader.members(&object, None, 0)?;
                Ok(Self { nodes })
            }
            _ => {
                let message = "the filter is no object";
                Err(DataError::new(ErrorTag::MalformedMessage, message))
            }
        }
    }
}

struct ObjectReader<'a> {
    schemas: &'a [&'a Schema],
    size: Size,
}

impl ObjectReader<'_> {
    /// The nodes that the members of an object are. A name without a module is in the module of the object.
    fn members(
        &mut self,
        object: &Json,
        within: Option<&str>,
        depth: usize,
    ) -> Result<Vec<FilterNode>, DataError> {
        let mut nodes = Vec::new();
        for (name, value) in object.as_object().into_iter().flatten() {
            let (namespace, name) = match name.split_once(':') {
                None => (within.map(Into::into), name.as_str()),
                Some((module, name)) => (Some(self.namespace_of(module)?), name),
            };
            let single = std::slice::from_ref(value);
            let values = value.as_array().map_or(single, Vec::as_slice);
            for value in values {
                self.size.add(depth + 1)?;
                nodes.push(FilterNode {
                    content: self.member(value, namespace.as_deref(), depth + 1)?,
                    namespace: namespace.clone(),
                    name: name.into(),
                    has_attributes: false,
                });
            }
        }
        Ok(nodes)
    }

    /// The namespace of a module.
    fn namespace_of(&self, module: &str) -> Result<Box<str>, DataError> {
        let found = |schema: &&Schema| {
            let id = schema.module_by_name(module)?;
            Some(schema.module(id).namespace.clone())
        };
        self.schemas.iter().find_map(found).ok_or_else(|| {
            let message = format!("the filter has an unknown module “{module}”");
            DataError::new(ErrorTag::UnknownNamespace, message)
        })
    }

    /// The kind of a member of an object.
    fn member(
        &mut self,
        value: &Json,
        namespace: Option<&str>,
        depth: usize,
    ) -> Result<FilterContent, DataError> {
        let content_match = |text: String| {
            FilterContent::ContentMatch(ContentMatch {
                text: text.into(),
                names: ValueNames::Modules,
            })
        };
        Ok(match value {
            Json::Null | Json::Array(_) => FilterContent::Selection,
            Json::Object(object) if object.is_empty() => FilterContent::Selection,
            Json::String(text) if text.is_empty() => FilterContent::Selection,
            Json::Object(_) => FilterContent::Containment(self.members(value, namespace, depth)?),
            Json::String(text) => content_match(text.clone()),
            Json::Bool(_) | Json::Number(_) => content_match(value.to_string()),
        })
    }
}
