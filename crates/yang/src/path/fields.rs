//! The `fields` query parameter (RFC 8040 §4.8.3).

use rustc_hash::FxHashMap;

use super::scan::{Scanner, WrittenName};
use crate::error::{DataError, ErrorTag, ErrorType};
use crate::schema::{ModuleId, NodeId, NodeKind, Schema};

/// How much of a node is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The node and everything below.
    Whole,
    /// The node, and below it only what is selected there.
    Partly,
    /// Nothing.
    Not,
}

/// What a `fields` expression selects below a target.
///
/// The keys of a list that is partly selected are selected too: RFC 8040 does not say so, but
/// without them the entries of the answer could not be told apart, and would be no valid data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    target: Option<NodeId>,
    /// The nodes named at the end of a path are [`Selection::Whole`], those on the way to them
    /// [`Selection::Partly`].
    named: FxHashMap<NodeId, Selection>,
}

impl Fields {
    /// Parses an expression, percent-decoded, for the resource of a node (for `None`: a
    /// datastore).
    ///
    /// `a(b);c` is accepted as `a/b;c`: the grammar of the RFC has nothing behind a closing parenthesis, but its
    /// examples do.
    pub fn parse(schema: &Schema, target: Option<NodeId>, text: &str) -> Result<Self, DataError> {
        let mut reader = Reader {
            schema,
            scanner: Scanner::new(text),
            fields: Self {
                target,
                named: FxHashMap::default(),
            },
        };
        reader.expression().map_err(refused)?;
        let mut fields = reader.fields;
        fields.drop_inside_whole(schema);
        Ok(fields)
    }

    /// How much of a node is selected; those above the target are [`Selection::Partly`], for the
    /// way to what is selected leads through them.
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
            Selection::Partly
        } else {
            Selection::Not
        }
    }

    /// Forgets what is named below a node that is wholly selected anyway.
    fn drop_inside_whole(&mut self, schema: &Schema) {
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

/// RFC 8040 §4.8: a query parameter that cannot be used.
fn refused(error: DataError) -> DataError {
    DataError {
        kind: ErrorType::Protocol,
        tag: ErrorTag::InvalidValue,
        message: format!("fields: {}", error.message),
        ..error
    }
}

struct Reader<'a> {
    schema: &'a Schema,
    scanner: Scanner<'a>,
    fields: Fields,
}

impl Reader<'_> {
    fn expression(&mut self) -> Result<(), DataError> {
        // The node that each open parenthesis is about.
        let mut open: Vec<Option<NodeId>> = Vec::new();
        let mut base = self.fields.target;
        loop {
            let node = self.path(base)?;
            if self.scanner.eat('(') {
                self.name(node, Selection::Partly);
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
            self.name(node, Selection::Partly);
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

    /// Marks a node; one that is wholly selected stays so.
    fn name(&mut self, node: NodeId, selection: Selection) {
        let entry = self.fields.named.entry(node).or_insert(selection);
        if selection == Selection::Whole {
            *entry = Selection::Whole;
        }
    }
}
