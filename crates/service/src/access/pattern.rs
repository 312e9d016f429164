//! The paths of rules: `node-instance-identifier` (RFC 8341 §3.3, the typedef).
//!
//! An instance identifier whose key predicates are optional. Names have the names of modules as prefixes; a name without
//! one is in the module of its parent. The variable `$USER` is the name of the user.

use espalier_store::{InstancePattern, PatternStep};
use espalier_yang::schema::ModuleNames;
use espalier_yang::{NodeId, Schema, Value};

/// The maximum length of a path.
pub const PATH_BYTES_MAX: usize = 64 << 10;

/// The variable for the name of the user.
const USER: &str = "$USER";

/// Why a path has no meaning for a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (at character {at})")]
pub struct PatternError {
    /// The cause.
    pub message: String,
    /// The number of characters before it.
    pub at: usize,
    /// Whether the path is of other models: the schema does not have its first module.
    pub is_of_other_models: bool,
}

/// Parses the path of a rule for a user. `/` has no steps, and matches everything.
///
/// # Errors
/// A syntax error, a node that the schema does not have, or a key value that is not of its type.
pub fn parse_pattern(
    schema: &Schema,
    text: &str,
    user: &str,
) -> Result<InstancePattern, PatternError> {
    let mut parser = Parser {
        schema,
        text,
        at: 0,
        user,
    };
    if text.len() > PATH_BYTES_MAX {
        return parser.fail(format!("the path has more than {PATH_BYTES_MAX} bytes"));
    }
    let mut pattern = InstancePattern::default();
    if text.trim() == "/" {
        return Ok(pattern);
    }
    parser.skip_space();
    while !parser.rest().is_empty() {
        parser.expect('/')?;
        let parent = pattern.steps.last().map(|step| step.node);
        let node = parser.node(parent)?;
        let keys = parser.predicates(node)?;
        pattern.steps.push(PatternStep { node, keys });
        parser.skip_space();
    }
    match pattern.steps.is_empty() {
        true => parser.fail("a path begins with /"),
        false => Ok(pattern),
    }
}

struct Parser<'a> {
    schema: &'a Schema,
    text: &'a str,
    /// The number of bytes read.
    at: usize,
    user: &'a str,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn fail<T>(&self, message: impl Into<String>) -> Result<T, PatternError> {
        Err(PatternError {
            message: message.into(),
            at: self.text[..self.at].chars().count(),
            is_of_other_models: false,
        })
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn eat(&mut self, expected: char) -> bool {
        self.skip_space();
        let is_next = self.rest().starts_with(expected);
        if is_next {
            self.at += expected.len_utf8();
        }
        is_next
    }

    fn expect(&mut self, expected: char) -> Result<(), PatternError> {
        match self.eat(expected) {
            true => Ok(()),
            false => self.fail(format!("‘{expected}’ is expected")),
        }
    }

    /// A name with an optional prefix.
    fn name(&mut self) -> Result<(Option<&'a str>, &'a str), PatternError> {
        self.skip_space();
        let is_name = |character: char| character.is_alphanumeric() || "_-.:".contains(character);
        let rest = self.rest();
        let length = rest
            .find(|character| !is_name(character))
            .unwrap_or(rest.len());
        let written = &rest[..length];
        if written.is_empty() {
            return self.fail("a name is expected");
        }
        self.at += length;
        Ok(match written.split_once(':') {
            Some((module, name)) => (Some(module), name),
            None => (None, written),
        })
    }

    fn node(&mut self, parent: Option<NodeId>) -> Result<NodeId, PatternError> {
        let start = self.at;
        let (module, name) = self.name()?;
        let found = match (module, parent) {
            (Some(module), _) => self
                .schema
                .module_by_name(module)
                .and_then(|module| self.schema.child(parent, module, name)),
            (None, Some(parent)) => {
                let module = self.schema.node(parent).module;
                self.schema.child(Some(parent), module, name)
            }
            (None, None) => self.schema.named(None, name).next(),
        };
        match found {
            Some(node) => Ok(node),
            None => {
                self.at = start;
                let written = match module {
                    Some(module) => format!("{module}:{name}"),
                    None => name.to_owned(),
                };
                let failed = self.fail(format!("the models have no node ‘{written}’ here"));
                let is_unknown = |module| self.schema.module_by_name(module).is_none();
                let is_of_other_models = parent.is_none() && module.is_some_and(is_unknown);
                failed.map_err(|error| PatternError {
                    is_of_other_models,
                    ..error
                })
            }
        }
    }

    /// The key values of a step, in the order of the model.
    fn predicates(&mut self, node: NodeId) -> Result<Vec<Option<Value>>, PatternError> {
        let data = self.schema.node(node);
        let own = [node];
        let leaves: &[NodeId] = match data.is_leaf_list() {
            true => &own,
            false => data.keys(),
        };
        let mut keys = Vec::new();
        while self.eat('[') {
            let leaf = self.predicate_leaf(node, leaves)?;
            self.expect('=')?;
            let text = self.literal()?;
            let value = self.value(leaves[leaf], &text)?;
            self.expect(']')?;
            keys.resize(leaves.len(), None);
            if keys[leaf].replace(value).is_some() {
                return self.fail("a key is given twice");
            }
        }
        Ok(keys)
    }

    /// The index of the key of a predicate.
    fn predicate_leaf(&mut self, node: NodeId, leaves: &[NodeId]) -> Result<usize, PatternError> {
        let start = self.at;
        if self.eat('.') {
            return match self.schema.node(node).is_leaf_list() {
                true => Ok(0),
                false => self.fail("only the entries of a leaf-list have a value"),
            };
        }
        let leaf = self.node(Some(node))?;
        match leaves.iter().position(|&key| key == leaf) {
            Some(index) => Ok(index),
            None => {
                self.at = start;
                self.fail(format!("‘{}’ is not a key", self.schema.node(leaf).name))
            }
        }
    }

    /// A literal in quotes, or the variable.
    fn literal(&mut self) -> Result<String, PatternError> {
        self.skip_space();
        if self.rest().starts_with(USER) {
            self.at += USER.len();
            return Ok(self.user.to_owned());
        }
        let quote = match self.rest().chars().next() {
            Some(quote @ ('\'' | '"')) => quote,
            _ => return self.fail("a value in quotes, or $USER, is expected"),
        };
        self.at += 1;
        let Some(length) = self.rest().find(quote) else {
            return self.fail("the quote is not closed");
        };
        let text = self.rest()[..length].to_owned();
        self.at += length + 1;
        Ok(match text == USER {
            true => self.user.to_owned(),
            false => text,
        })
    }

    fn value(&self, leaf: NodeId, text: &str) -> Result<Value, PatternError> {
        let node = self.schema.node(leaf);
        let Some(leaf) = node.as_value() else {
            return self.fail("the key is not a leaf");
        };
        let names = ModuleNames {
            leaf_module: node.module,
        };
        match leaf.value_type.parse(self.schema, text, &names) {
            Ok(value) => Ok(value),
            Err(error) => {
                let error: espalier_yang::DataError = error.into();
                self.fail(format!("the value of ‘{}’: {}", node.name, error.message))
            }
        }
    }
}
