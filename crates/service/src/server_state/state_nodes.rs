//! Builds data by the names of nodes.

use std::sync::Arc;

use espalier_yang::data::{Content, DataNode, DataTree};
use espalier_yang::schema::ModuleNames;
use espalier_yang::{NodeId, Schema};

/// The children of a node, or the top-level nodes.
///
/// A schema may have another revision of a module, or deviate from it. What it does not have or allow is left out: a
/// node that it does not define, a value that its type rejects, an entry that lacks a key.
pub(crate) struct StateNodes<'s> {
    schema: &'s Schema,
    parent: Option<NodeId>,
    nodes: Vec<DataNode>,
}

impl<'s> StateNodes<'s> {
    /// A tree with one top-level container.
    pub fn tree(
        schema: &'s Arc<Schema>,
        (module, name): (&str, &str),
        fill: impl FnOnce(&mut Self),
    ) -> DataTree {
        DataTree {
            nodes: Self::nodes_in(schema, None, &format!("{module}:{name}"), fill),
        }
    }

    /// A container in a parent; nothing if the schema does not have it.
    pub fn nodes_in(
        schema: &'s Schema,
        parent: Option<NodeId>,
        name: &str,
        fill: impl FnOnce(&mut Self),
    ) -> Vec<DataNode> {
        let mut nodes = Self {
            schema,
            parent,
            nodes: Vec::new(),
        };
        nodes.inner(name, fill);
        nodes.nodes
    }

    /// Adds a container or a list entry.
    pub fn inner(&mut self, name: &str, fill: impl FnOnce(&mut Self)) {
        let Some(id) = self.child(name) else { return };
        let mut children = Self {
            schema: self.schema,
            parent: Some(id),
            nodes: Vec::new(),
        };
        fill(&mut children);
        let node = DataNode::new(id, Content::Inner(children.nodes));
        if node.keys(self.schema).is_some() {
            self.nodes.push(node);
        }
    }

    /// Adds a leaf, or an entry of a leaf-list; returns whether the schema has it and allows the value.
    pub fn leaf(&mut self, name: &str, text: &str) -> bool {
        let Some(id) = self.child(name) else {
            return false;
        };
        let node = self.schema.node(id);
        let names = ModuleNames {
            leaf_module: node.module,
        };
        let leaf = node.as_value();
        let value = leaf.and_then(|leaf| leaf.value_type.parse(self.schema, text, &names).ok());
        let node = value.map(|value| DataNode::new(id, Content::Value(value)));
        let is_added = node.is_some();
        self.nodes.extend(node);
        is_added
    }

    /// Adds an `anydata` with JSON text as its content.
    pub fn any(&mut self, name: &str, content: &str) {
        if let Some(id) = self.child(name) {
            let content = Content::Any(content.into());
            self.nodes.push(DataNode::new(id, content));
        }
    }

    /// Adds the entries of a leaf-list.
    pub fn leaf_list<T: AsRef<str>>(&mut self, name: &str, texts: impl IntoIterator<Item = T>) {
        for text in texts {
            self.leaf(name, text.as_ref());
        }
    }

    /// Adds nodes.
    pub fn extend(&mut self, nodes: impl IntoIterator<Item = DataNode>) {
        self.nodes.extend(nodes);
    }

    /// Removes the nodes with a name.
    pub fn remove(&mut self, name: &str) {
        let id = self.child(name);
        self.nodes.retain(|node| Some(node.node) != id);
    }

    /// The schema node with a name. A name without a module is in the module of the parent.
    fn child(&self, name: &str) -> Option<NodeId> {
        let (module, name) = match name.split_once(':') {
            Some((module, name)) => (self.schema.module_by_name(module)?, name),
            None => (self.schema.node(self.parent?).module, name),
        };
        self.schema.child(self.parent, module, name)
    }
}
