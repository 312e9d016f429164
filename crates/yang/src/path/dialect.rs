//! The syntax of names and key predicates: the three dialects of `/a/b[k='v']`.

use std::borrow::Cow;

use super::Keys;
use super::resolve_steps::Descent;
use super::scan::{Scanner, WrittenName};
use crate::error::{DataError, ErrorTag};
use crate::schema::{ModuleId, Namespaces, NodeId, NodeKind};
use crate::value::Value;

/// The syntax of names and predicates.
#[derive(Clone, Copy)]
pub(super) enum Dialect<'a> {
    /// RFC 7951 §6.11: module names, only if the module differs from the parent's.
    Json,
    /// RFC 7950 §9.13.2: a prefix on every name.
    Xml(&'a dyn Namespaces),
    /// For users: module names or prefixes only if they are needed, quotes optional.
    CommandLine,
}

/// The predicates of one step.
#[derive(Default)]
struct Predicates {
    /// The values of the keys, by their index in the `key` statement.
    keys: Vec<Option<Value>>,
    own: Option<Value>,
    position: Option<u64>,
}

impl Dialect<'_> {
    /// The child of the current node.
    pub(super) fn child(
        self,
        descent: &Descent<'_>,
        name: WrittenName<'_>,
    ) -> Result<NodeId, DataError> {
        match (self, name.prefix) {
            (Self::Json, _) => {
                let child = descent.json_child(name)?;
                self.require_unqualified(descent, name, descent.parent(), child)?;
                Ok(child)
            }
            (Self::CommandLine, None) => unqualified_child(descent, name),
            (Self::Xml(_) | Self::CommandLine, _) => {
                let module = self.module(descent, name)?;
                let child = descent.schema.child(descent.node(), module, name.name);
                child.ok_or_else(|| descent.unknown(name))
            }
        }
    }

    /// RFC 7951 §6.11: a name has no module if it equals that of the parent.
    fn require_unqualified(
        self,
        descent: &Descent<'_>,
        name: WrittenName<'_>,
        above: Option<NodeId>,
        node: NodeId,
    ) -> Result<(), DataError> {
        let module = |id: NodeId| descent.schema.node(id).module;
        let is_same = above.is_some_and(|above| module(above) == module(node));
        match (self, name.prefix) {
            (Self::Json, Some(_)) if is_same => {
                let message = format!("'{name}' must be written '{}' here", name.name);
                Err(descent.error(ErrorTag::InvalidValue, message))
            }
            _ => Ok(()),
        }
    }

    /// The module of a name's prefix.
    fn module(self, descent: &Descent<'_>, name: WrittenName<'_>) -> Result<ModuleId, DataError> {
        let schema = descent.schema;
        let Some(prefix) = name.prefix else {
            let message = format!("'{name}' needs a prefix");
            let error = descent.error(ErrorTag::UnknownNamespace, message);
            return Err(error.on_element(name.name));
        };
        let module = match self {
            Self::Json => schema.module_by_name(prefix),
            Self::Xml(namespaces) => namespaces.module(schema, Some(prefix)),
            Self::CommandLine => {
                let by_name = schema.module_by_name(prefix);
                by_name.or_else(|| module_by_prefix(descent, prefix))
            }
        };
        module.ok_or_else(|| {
            let message =
                descent.unknown_module_message(format!("'{prefix}' is not a known module"), prefix);
            let error = descent.error(ErrorTag::UnknownNamespace, message);
            error.on_element(name.name).in_namespace(prefix)
        })
    }

    /// Parses all predicates of the current node and sets its keys.
    pub(super) fn predicates(
        self,
        descent: &mut Descent<'_>,
        scanner: &mut Scanner<'_>,
    ) -> Result<(), DataError> {
        let Some(id) = descent.node() else {
            return Ok(());
        };
        let mut found = Predicates::default();
        let count = descent.schema.node(id).keys().len();
        found.keys.resize_with(count, || None);
        self.spaces(scanner);
        let has_any = scanner.peek() == Some('[');
        while scanner.eat('[') {
            scanner.spaces();
            self.predicate(descent, id, scanner, &mut found)?;
            scanner.spaces();
            scanner.expect(']')?;
            self.spaces(scanner);
        }
        if has_any {
            let keys = found.into_keys(descent, id)?;
            descent.set_keys(keys);
        }
        Ok(())
    }

    /// Spaces between predicates and steps; on a command line they are errors.
    fn spaces(self, scanner: &mut Scanner<'_>) {
        if !matches!(self, Self::CommandLine) {
            scanner.spaces();
        }
    }

    /// Parses one predicate, without its brackets.
    fn predicate(
        self,
        descent: &Descent<'_>,
        id: NodeId,
        scanner: &mut Scanner<'_>,
        found: &mut Predicates,
    ) -> Result<(), DataError> {
        match scanner.peek() {
            Some('0'..='9') => {
                let position = position(descent, id, scanner.until(&[' ', '\t', '\n', '\r', ']']))?;
                set_once(descent, &mut found.position, position)
            }
            Some('.') => {
                scanner.eat('.');
                let text = self.equals(scanner)?;
                if !descent.schema.node(id).is_leaf_list() {
                    let message = "'.' is only allowed for a leaf-list";
                    return Err(descent.error(ErrorTag::InvalidValue, message));
                }
                let value = self.value(descent, id, &text)?;
                set_once(descent, &mut found.own, value)
            }
            _ => {
                let name = scanner.name()?;
                let (index, leaf) = self.key(descent, id, name)?;
                let text = self.equals(scanner)?;
                let value = self.value(descent, leaf, &text)?;
                set_once(descent, &mut found.keys[index], value)
            }
        }
    }

    /// The key of a list for a name in a predicate, and its index.
    fn key(
        self,
        descent: &Descent<'_>,
        id: NodeId,
        name: WrittenName<'_>,
    ) -> Result<(usize, NodeId), DataError> {
        let schema = descent.schema;
        let module = match (self, name.prefix) {
            (Self::Json | Self::CommandLine, None) => None,
            _ => Some(self.module(descent, name)?),
        };
        let mut keys = schema.node(id).keys().iter().copied().enumerate();
        let found = keys.find(|&(_, key)| {
            let key = schema.node(key);
            *key.name == *name.name && module.is_none_or(|module| module == key.module)
        });
        let (index, key) = found.ok_or_else(|| {
            let message = format!("'{name}' is not a key of '{}'", schema.node(id).name);
            descent.error(ErrorTag::InvalidValue, message)
        })?;
        self.require_unqualified(descent, name, Some(id), key)?;
        Ok((index, key))
    }

    /// ` = 'value'`.
    fn equals<'t>(self, scanner: &mut Scanner<'t>) -> Result<Cow<'t, str>, DataError> {
        scanner.spaces();
        scanner.expect('=')?;
        scanner.spaces();
        match (self, scanner.peek()) {
            (Self::CommandLine, Some('\'' | '"')) | (Self::Json | Self::Xml(_), _) => {
                scanner.quoted()
            }
            (Self::CommandLine, _) => Ok(scanner.until(&[']']).into()),
        }
    }

    fn value(self, descent: &Descent<'_>, leaf: NodeId, text: &str) -> Result<Value, DataError> {
        match self {
            Self::Xml(namespaces) => descent.value(leaf, text, namespaces),
            Self::Json | Self::CommandLine => descent.value(leaf, text, &descent.json_names(leaf)),
        }
    }
}

impl Predicates {
    fn into_keys(self, descent: &Descent<'_>, id: NodeId) -> Result<Keys, DataError> {
        let node = descent.schema.node(id);
        let named = self.keys.iter().flatten().count();
        if named + usize::from(self.own.is_some()) > 0 && self.position.is_some() {
            let message = format!(
                "'{}' is identified either by a position or by values",
                node.name
            );
            return Err(descent.error(ErrorTag::InvalidValue, message));
        }
        if let Some(position) = self.position {
            return Ok(Keys::Position(position));
        }
        if let Some(value) = self.own {
            return Ok(Keys::Values(vec![value]));
        }
        let missing = self.keys.iter().position(Option::is_none);
        if let Some(&missing) = missing.and_then(|index| node.keys().get(index)) {
            let key = &descent.schema.node(missing).name;
            let message = format!("'{}' lacks its key '{key}'", node.name);
            let error = descent.error(ErrorTag::MissingElement, message);
            return Err(error.on_element(&**key));
        }
        Ok(Keys::Values(self.keys.into_iter().flatten().collect()))
    }
}

fn set_once<T>(descent: &Descent<'_>, slot: &mut Option<T>, value: T) -> Result<(), DataError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(descent.error(ErrorTag::InvalidValue, "duplicate predicate")),
    }
}

/// Positions identify the entries of keyless lists and of state leaf-lists.
fn position(descent: &Descent<'_>, id: NodeId, text: &str) -> Result<u64, DataError> {
    let node = descent.schema.node(id);
    let is_allowed = match &node.kind {
        NodeKind::List(list) => list.keys.is_empty(),
        NodeKind::LeafList(_) => !node.is_config,
        _ => false,
    };
    if !is_allowed {
        let message = format!(
            "an entry of '{}' is not identified by a position",
            node.name
        );
        return Err(descent.error(ErrorTag::InvalidValue, message));
    }
    match text.parse() {
        Ok(position) if position > 0 && !text.starts_with('0') => Ok(position),
        _ => {
            let message = format!("'{text}' is not a position; positions start at 1");
            Err(descent.error(ErrorTag::InvalidValue, message))
        }
    }
}

/// The only implemented module with this prefix.
fn module_by_prefix(descent: &Descent<'_>, prefix: &str) -> Option<ModuleId> {
    let modules = descent.schema.modules().iter();
    let mut matching = modules.filter(|module| module.is_implemented && *module.prefix == *prefix);
    let found = matching.next()?;
    match matching.next() {
        None => descent.schema.module_by_name(&found.name),
        Some(_) => None,
    }
}

/// The child for a name without a module: the one in the parent's module, otherwise the only one with that name.
fn unqualified_child(descent: &Descent<'_>, name: WrittenName<'_>) -> Result<NodeId, DataError> {
    let schema = descent.schema;
    let is_data = |&id: &NodeId| match schema.node(id).kind {
        NodeKind::Input | NodeKind::Output => false,
        NodeKind::Rpc | NodeKind::Notification => descent.names_operations(),
        _ => true,
    };
    let above = descent.node();
    let module = above.map(|id| schema.node(id).module);
    let mut found = schema.named(above, name.name).filter(is_data);
    let Some(first) = found.next() else {
        return Err(descent.unknown(name));
    };
    let is_of_module = |id: &NodeId| Some(schema.node(*id).module) == module;
    if is_of_module(&first) {
        return Ok(first);
    }
    let others: Vec<NodeId> = found.collect();
    match others.iter().copied().find(is_of_module) {
        Some(id) => Ok(id),
        None if others.is_empty() => Ok(first),
        None => {
            let several = std::iter::once(first).chain(others);
            let names: Vec<String> = several
                .map(|id| format!("{}:{name}", schema.module(schema.node(id).module).name))
                .collect();
            let message = format!("'{name}' may be {}", names.join(" or "));
            Err(descent
                .error(ErrorTag::UnknownElement, message)
                .on_element(name.name))
        }
    }
}
