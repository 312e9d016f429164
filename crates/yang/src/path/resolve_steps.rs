//! The descent from the root, shared by all text forms.

use super::scan::WrittenName;
use super::{InstancePath, Keys, Step};
use crate::error::{DataError, ErrorTag, ErrorType};
use crate::schema::{ModuleNames, Namespaces, NodeId, NodeKind, Schema};
use crate::value::Value;

/// A path under construction: all steps so far are valid.
pub(super) struct Descent<'s> {
    pub(super) schema: &'s Schema,
    /// The node with a mount point at whose instance the path starts.
    root: Option<NodeId>,
    path: InstancePath,
    /// Whether a list without keys stands for every entry.
    is_pattern: bool,
    /// Whether a name without a module can be that of an RPC or a notification.
    names_operations: bool,
}

impl<'s> Descent<'s> {
    pub(super) fn new(schema: &'s Schema) -> Self {
        Self::below(schema, None)
    }

    /// A path that starts at an instance of a node with a mount point.
    pub(super) fn below(schema: &'s Schema, root: Option<NodeId>) -> Self {
        Self {
            schema,
            root,
            path: InstancePath::root(),
            is_pattern: false,
            names_operations: false,
        }
    }

    /// A path in which a list without keys stands for every entry.
    pub(super) fn of_pattern(schema: &'s Schema) -> Self {
        Self {
            is_pattern: true,
            names_operations: true,
            ..Self::new(schema)
        }
    }

    /// A path to an operation.
    pub(super) fn of_operation(schema: &'s Schema) -> Self {
        Self {
            names_operations: true,
            ..Self::new(schema)
        }
    }

    pub(super) fn names_operations(&self) -> bool {
        self.names_operations
    }

    pub(super) fn is_at_root(&self) -> bool {
        self.path.is_root()
    }

    /// The current node.
    pub(super) fn node(&self) -> Option<NodeId> {
        self.path.target().or(self.root)
    }

    /// The current node if it is one of the path.
    pub(super) fn parent(&self) -> Option<NodeId> {
        self.path.target()
    }

    /// Descends to a child. The current node must have its keys.
    pub(super) fn enter(&mut self, node: NodeId) -> Result<(), DataError> {
        self.require_instance()?;
        let keys = Keys::None;
        self.path.steps.push(Step { node, keys });
        Ok(())
    }

    /// Sets the keys of the current node.
    pub(super) fn set_keys(&mut self, keys: Keys) {
        if let Some(step) = self.path.steps.last_mut() {
            step.keys = keys;
        }
    }

    /// Requires that the current node is one instance, not a whole list.
    pub(super) fn require_instance(&self) -> Result<(), DataError> {
        let Some(Step {
            node,
            keys: Keys::None,
        }) = self.path.steps.last()
        else {
            return Ok(());
        };
        if self.is_pattern {
            return Ok(());
        }
        let node = self.schema.node(*node);
        let needed = match node.kind {
            NodeKind::List(ref list) if list.keys.is_empty() => "a position",
            NodeKind::List(_) => "its keys",
            NodeKind::LeafList(_) => "its value",
            _ => return Ok(()),
        };
        let message = format!("an entry of '{}' is identified by {needed}", node.name);
        let key = node.keys().first().map(|&key| &self.schema.node(key).name);
        let error = self.error(ErrorTag::MissingElement, message);
        Err(error.on_element(&**key.unwrap_or(&node.name)))
    }

    pub(super) fn finish(self) -> InstancePath {
        self.path
    }

    /// An error at the current node.
    pub(super) fn error(&self, tag: ErrorTag, message: impl Into<String>) -> DataError {
        self.with_path(DataError::new(tag, message))
    }

    /// Sets the path of an error to the current node; no path at the root.
    fn with_path(&self, error: DataError) -> DataError {
        let error = error.of_type(ErrorType::Protocol);
        if self.path.is_root() {
            return error;
        }
        error.at(self.path.to_instance_identifier(self.schema))
    }

    pub(super) fn unknown(&self, name: WrittenName<'_>) -> DataError {
        let message = match self.node() {
            Some(parent) => {
                let parent = self.schema.path(parent);
                format!("'{name}' does not exist in {parent}")
            }
            None => format!("'{name}' does not exist at the top level"),
        };
        let message = match self.similar(name.name) {
            Some(similar) => format!("{message}; did you mean '{similar}'?"),
            None => message,
        };
        self.error(ErrorTag::UnknownElement, message)
            .on_element(name.name)
    }

    /// Requires that a child can have data.
    pub(super) fn require_data(&self, child: NodeId) -> Result<(), DataError> {
        let child = self.schema.node(child);
        let kind = match child.kind {
            NodeKind::Rpc => "an operation",
            NodeKind::Action => "an action",
            NodeKind::Notification => "a notification",
            _ => return Ok(()),
        };
        let message = format!("'{}' is {kind}, which has no data", child.name);
        let error = self.error(ErrorTag::UnknownElement, message);
        Err(error.on_element(&*child.name))
    }

    /// Requires that the current node is an RPC or action.
    pub(super) fn require_operation(&self) -> Result<(), DataError> {
        let kind = self.node().map(|node| &self.schema.node(node).kind);
        match kind {
            Some(NodeKind::Rpc | NodeKind::Action) => Ok(()),
            _ => {
                let message = "the path names no operation";
                Err(self.error(ErrorTag::InvalidValue, message))
            }
        }
    }

    /// The child of the current node whose name is most similar to an unknown one.
    fn similar(&self, name: &str) -> Option<String> {
        let similar = most_similar(name, self.schema.child_names(self.node()))?;
        let node = self.schema.named(self.node(), similar).next()?;
        Some(self.schema.qualified_name(node))
    }

    /// A message about a module that does not exist, with a suggestion.
    pub(super) fn unknown_module_message(&self, message: String, module: &str) -> String {
        let names = self.schema.modules().iter();
        let names = names.filter(|module| module.is_implemented);
        match most_similar(module, names.map(|module| &*module.name)) {
            Some(similar) => format!("{message}; did you mean '{similar}'?"),
            None => message,
        }
    }

    /// Extends the error of a step without a name: a slash in a key value, which ends the step, is the usual cause.
    pub(super) fn explain_slash(&self, mut error: DataError) -> DataError {
        let last = self.path.steps.last();
        if last.is_some_and(|step| matches!(step.keys, Keys::Values(_))) {
            let name = last.map_or("", |step| &*self.schema.node(step.node).name);
            error.message.push_str(&format!(
                "; a '/' in the key of '{name}' must be written %2F, or between quotes: {name}[KEY='a/b']"
            ));
        }
        error
    }

    /// The child with a name as in RFC 7951 §4: with its module, or without if the parent has the same.
    pub(super) fn json_child(&self, name: WrittenName<'_>) -> Result<NodeId, DataError> {
        let module = match (name.prefix, self.parent()) {
            (Some(module), _) => self.schema.module_by_name(module).ok_or_else(|| {
                let message =
                    self.unknown_module_message(format!("there is no module '{module}'"), module);
                let error = self.error(ErrorTag::UnknownNamespace, message);
                error.on_element(name.name).in_namespace(module)
            })?,
            (None, Some(parent)) => self.schema.node(parent).module,
            (None, None) => {
                let message = format!("'{name}' needs its module, as in 'module:{name}'");
                let error = self.error(ErrorTag::UnknownElement, message);
                return Err(error.on_element(name.name));
            }
        };
        self.schema
            .child(self.node(), module, name.name)
            .ok_or_else(|| self.unknown(name))
    }

    /// Names in keys: with module names, or without if the module is that of the key.
    pub(super) fn json_names(&self, node: NodeId) -> ModuleNames {
        ModuleNames {
            leaf_module: self.schema.node(node).module,
        }
    }

    /// Parses the value of a key, or of the leaf-list itself.
    pub(super) fn value(
        &self,
        leaf: NodeId,
        text: &str,
        namespaces: &dyn Namespaces,
    ) -> Result<Value, DataError> {
        let node = self.schema.node(leaf);
        let Some(value) = node.as_value() else {
            return Err(self.error(ErrorTag::OperationFailed, "a key that is not a leaf"));
        };
        let parsed = value.value_type.parse(self.schema, text, namespaces);
        parsed.map_err(|error| {
            let mut error = self.with_path(error.into());
            error.message = format!("'{}' of the path: {}", node.name, error.message);
            error
        })
    }

    /// Sets the keys of the current entry from their texts, in the order of the model.
    pub(super) fn set_key_texts(&mut self, texts: &[impl AsRef<str>]) -> Result<(), DataError> {
        let Some(id) = self.node() else {
            return Ok(());
        };
        let node = self.schema.node(id);
        let leaf = [id];
        let leaves: &[NodeId] = if node.is_leaf_list() {
            &leaf
        } else {
            node.keys()
        };
        if leaves.is_empty() {
            let message = format!("'{}' has no keys", node.name);
            return Err(self.error(ErrorTag::InvalidValue, message));
        }
        if leaves.len() != texts.len() {
            let (name, needs, has) = (&node.name, leaves.len(), texts.len());
            let message =
                format!("an entry of '{name}' is identified by {needs} key values, not {has}");
            let tag = if has < needs {
                ErrorTag::MissingElement
            } else {
                ErrorTag::InvalidValue
            };
            let error = self.error(tag, message);
            return Err(match leaves.get(has) {
                Some(&missing) => error.on_element(&*self.schema.node(missing).name),
                None => error,
            });
        }
        let mut values = Vec::with_capacity(leaves.len());
        for (&leaf, text) in leaves.iter().zip(texts) {
            values.push(self.value(leaf, text.as_ref(), &self.json_names(leaf))?);
        }
        self.set_keys(Keys::Values(values));
        Ok(())
    }
}

/// The maximum number of wrong letters in a name for which a suggestion is made; also at most a third of its letters.
const TYPOS_MAX: usize = 3;

/// The name that is most similar to an unknown one; `None` if none is similar enough.
fn most_similar<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).clamp(1, TYPOS_MAX);
    let distances = names.map(|other| (strsim::damerau_levenshtein(name, other), other));
    let most_similar = distances.min().filter(|(typos, _)| *typos <= limit);
    most_similar.map(|(_, other)| other)
}
