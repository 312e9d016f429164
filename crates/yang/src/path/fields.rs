//! The `fields` query parameter (RFC 8040 §4.8.3).

use rustc_hash::FxHashMap;

use super::scan::{Scanner, WrittenName};
use crate::error::{DataError, ErrorTag, ErrorType};
use crate::schema::{ModuleId, NodeId, NodeKind, Schema};

/// How much of a node is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The node and all its descendants.
    Whole,
    /// The node, and only the selected descendants.
    Partial,
    /// Nothing.
    Not,
}

/// The selection of a `fields` expression below a target.
///
/// The keys of a partly selected list are selected too: RFC 8040 does not require it, but without them the entries of
/// the response could not be distinguished, and would not be valid data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    target: Option<NodeId>,
    /// The nodes at the end of a path are [`Selection::Whole`], their ancestors [`Selection::Partial`].
    named: FxHashMap<NodeId, Selection>,
}

impl Fields {
    /// Parses a percent-decoded expression for the resource of a node (for `None`: a datastore).
    ///
    /// `a(b);c` is accepted as `a/b;c`: the grammar of the RFC allows nothing after a closing parenthesis, but its
    /// examples have it.
    pub fn parse(schema: &Schema, target: Option<NodeId>, text: &str) -> Result<Self, DataError> {
        let mut reader = FieldsParser {
            schema,
            scanner: Scanner::new(text),
            fields: Self {
                target,
                named: FxHashMap::default(),
            },
        };
        reader.expression().map_err(invalid_fields)?;
        let mut fields = reader.fields;
        fields.drop_below_whole(schema);
        Ok(fields)
    }

    /// Returns how much of a node is selected; the ancestors of the target are [`Selection::Partial`].
    pub fn selection(&self, schema: &Schema, node: NodeId) -> Selection {
        if let Some(&selection) = self.named.get(&node) {
            return selection;
        }
        let mut above = schema.node(node).parent;
        if self.is_key_of_selected(schema, node, above) {
            return Selection::Whole;
        }
        while let Some(id) = above {
            match self.named.get(&id) {
                Some(Selection::Whole) => return Selection::Whole,
                Some(_) => return Selection::Not,
                None if self.target == Some(id) => return Selection::Not,
                None => above = schema.node(id).parent,
            }
        }
        if self.leads_to_target(schema, node) {
            Selection::Partial
        } else {
            Selection::Not
        }
    }

    /// Removes the entries below nodes that are selected as a whole.
    fn drop_below_whole(&mut self, schema: &Schema) {
        let mut whole: Vec<NodeId> = self
            .named
            .iter()
            .filter(|(_, selection)| **selection == Selection::Whole)
            .map(|(&node, _)| node)
            .collect();
        whole.sort_unstable();
        self.named.retain(|&node, _| {
            let mut above = schema.node(node).parent;
            while let Some(id) = above {
                if whole.binary_search(&id).is_ok() {
                    return false;
                }
                above = schema.node(id).parent;
            }
            true
        });
    }

    fn is_key_of_selected(&self, schema: &Schema, node: NodeId, above: Option<NodeId>) -> bool {
        above.is_some_and(|list| {
            let is_inside = self.named.contains_key(&list) || self.target == Some(list);
            is_inside && schema.node(list).keys().contains(&node)
        })
    }

    fn leads_to_target(&self, schema: &Schema, node: NodeId) -> bool {
        let mut above = self.target;
        while let Some(id) = above {
            if id == node {
                return true;
            }
            above = schema.node(id).parent;
        }
        false
    }
}

/// RFC 8040 §4.8: the error of an invalid query parameter.
fn invalid_fields(error: DataError) -> DataError {
    DataError {
        kind: ErrorType::Protocol,
        tag: ErrorTag::InvalidValue,
        message: format!("fields: {}", error.message),
        ..error
    }
}

struct FieldsParser<'a> {
    schema: &'a Schema,
    scanner: Scanner<'a>,
    fields: Fields,
}

impl FieldsParser<'_> {
    fn expression(&mut self) -> Result<(), DataError> {
        // The node of each open parenthesis.
        let mut open: Vec<Option<NodeId>> = Vec::new();
        let mut base = self.fields.target;
        loop {
            let node = self.path(base)?;
            if self.scanner.eat('(') {
                self.name(node, Selection::Partial);
                open.push(base);
                base = Some(node);
                continue;
            }
            self.name(node, Selection::Whole);
            while self.scanner.eat(')') {
                base = open
                    .pop()
                    .ok_or_else(|| self.scanner.expected("'(' before ')'"))?;
            }
            if self.scanner.peek().is_none() && open.is_empty() {
                return Ok(());
            }
            if !self.scanner.eat(';') {
                return Err(self.scanner.expected("';', '(', ')' or '/'"));
            }
        }
    }

    /// `path = api-identifier [ "/" path ]`.
    fn path(&mut self, base: Option<NodeId>) -> Result<NodeId, DataError> {
        let mut node = self.step(base)?;
        while self.scanner.eat('/') {
            self.name(node, Selection::Partial);
            node = self.step(Some(node))?;
        }
        Ok(node)
    }

    fn step(&mut self, base: Option<NodeId>) -> Result<NodeId, DataError> {
        let name = self.scanner.name()?;
        let unknown = || {
            let place = base.map_or_else(|| "/".to_owned(), |id| self.schema.path(id));
            let message = format!("'{name}' does not exist in {place}");
            DataError::new(ErrorTag::InvalidValue, message)
        };
        let module = self.module(base, name).ok_or_else(unknown)?;
        let found = self.schema.child(base, module, name.name);
        let is_data = |&id: &NodeId| {
            !matches!(
                self.schema.node(id).kind,
                NodeKind::Rpc | NodeKind::Action | NodeKind::Notification
            )
        };
        found.filter(is_data).ok_or_else(unknown)
    }

    fn module(&self, base: Option<NodeId>, name: WrittenName<'_>) -> Option<ModuleId> {
        match name.prefix {
            Some(module) => self.schema.module_by_name(module),
            None => base.map(|id| self.schema.node(id).module),
        }
    }

    /// Selects a node; one that is selected as a whole stays so.
    fn name(&mut self, node: NodeId, selection: Selection) {
        let entry = self.fields.named.entry(node).or_insert(selection);
        if selection == Selection::Whole {
            *entry = Selection::Whole;
        }
    }
}
