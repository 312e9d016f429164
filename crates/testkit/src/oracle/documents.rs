//! Random data trees of a schema: valid structure and types, with unusual values.

use std::collections::{HashMap, HashSet};

use espalier_yang::data::{Content, DataNode, DataTree};
use espalier_yang::schema::{ModuleNames, Schema, Type};
use espalier_yang::{NodeId, NodeKind, Value};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::random_values;

/// The probability of an optional node.
const PRESENCE: f64 = 0.4;

/// Maximum number of entries of a list.
const ENTRIES_MAX: usize = 4;

/// How often a value is tried before the leaf is omitted.
const TRIES: usize = 20;

/// Generates data trees.
#[derive(Debug)]
pub struct Documents<'a> {
    schema: &'a Schema,
    random: &'a mut StdRng,
}

impl<'a> Documents<'a> {
    /// A generator for this schema.
    pub fn new(schema: &'a Schema, random: &'a mut StdRng) -> Self {
        Self { schema, random }
    }

    /// A random tree of the whole datastore.
    pub fn tree(&mut self) -> DataTree {
        let schema = self.schema;
        DataTree {
            nodes: self.siblings(schema.roots()),
        }
    }

    /// Random children of a node.
    pub fn children(&mut self, parent: NodeId) -> Vec<DataNode> {
        let schema = self.schema;
        self.siblings(&schema.node(parent).children)
    }

    fn siblings(&mut self, nodes: &[NodeId]) -> Vec<DataNode> {
        let mut cases: HashMap<u32, u32> = HashMap::new();
        let mut siblings = Vec::new();
        for &id in nodes {
            let node = self.schema.node(id);
            let is_key = node.as_value().is_some_and(|leaf| leaf.is_key);
            if is_key || !self.random.random_bool(PRESENCE) {
                continue;
            }
            let is_open = |choice: &espalier_yang::schema::CaseChoice| {
                cases
                    .get(&choice.choice)
                    .is_none_or(|case| *case == choice.case)
            };
            if !node.cases.iter().all(is_open) {
                continue;
            }
            let instances = self.instances(id);
            if !instances.is_empty() {
                cases.extend(node.cases.iter().map(|choice| (choice.choice, choice.case)));
            }
            siblings.extend(instances);
        }
        siblings
    }

    /// One or more instances of a node.
    fn instances(&mut self, id: NodeId) -> Vec<DataNode> {
        let node = self.schema.node(id);
        match &node.kind {
            NodeKind::Container { .. } => {
                let children = self.children(id);
                vec![DataNode::new(id, Content::Inner(children))]
            }
            NodeKind::Leaf(_) => self.leaf(id).into_iter().collect(),
            NodeKind::LeafList(_) => self.leaf_list(id),
            NodeKind::List(_) => self.list(id),
            NodeKind::AnyData => vec![DataNode::new(id, Content::Any("{}".to_owned()))],
            NodeKind::AnyXml => {
                // libyang treats white space alone as empty.
                let text =
                    serde_json::Value::from(format!("s{}", random_values::string(self.random)));
                vec![DataNode::new(id, Content::Any(text.to_string()))]
            }
            _ => Vec::new(),
        }
    }

    fn leaf_list(&mut self, id: NodeId) -> Vec<DataNode> {
        let count = self.random.random_range(1..=ENTRIES_MAX);
        let mut entries: Vec<_> = (0..count).filter_map(|_| self.leaf(id)).collect();
        if self.schema.node(id).is_config {
            let mut seen = HashSet::new();
            entries.retain(|entry| seen.insert(entry.value().cloned()));
        }
        entries
    }

    fn list(&mut self, id: NodeId) -> Vec<DataNode> {
        let schema = self.schema;
        let keys = schema.node(id).keys();
        let mut seen = HashSet::new();
        let mut entries = Vec::new();
        for _ in 0..self.random.random_range(1..=ENTRIES_MAX) {
            let key_leaves: Option<Vec<_>> = keys.iter().map(|&key| self.leaf(key)).collect();
            let Some(mut children) = key_leaves else {
                continue;
            };
            let values: Vec<_> = children.iter().map(|key| key.value().cloned()).collect();
            if keys.is_empty() || seen.insert(values) {
                children.extend(self.children(id));
                entries.push(DataNode::new(id, Content::Inner(children)));
            }
        }
        entries
    }

    fn leaf(&mut self, id: NodeId) -> Option<DataNode> {
        let leaf = self.schema.node(id).as_value()?;
        let value = self.value(id, &leaf.value_type)?;
        Some(DataNode::new(id, Content::Value(value)))
    }

    fn value(&mut self, id: NodeId, of: &Type) -> Option<Value> {
        let names = ModuleNames {
            leaf_module: self.schema.node(id).module,
        };
        (0..TRIES).find_map(|_| {
            let text = random_values::of_type(self.random, self.schema, of);
            of.parse(self.schema, &text, &names).ok()
        })
    }
}

/// Shuffles siblings without changing the meaning: user-ordered entries keep their order.
pub fn shuffle(schema: &Schema, random: &mut StdRng, nodes: &mut [DataNode]) {
    for node in nodes.iter_mut() {
        if let Content::Inner(children) = &mut node.content {
            shuffle(schema, random, children);
        }
    }
    let ordered: Vec<DataNode> = nodes.to_vec();
    nodes.shuffle(random);
    let is_positional = |node: &DataNode| schema.node(node.node).is_positional();
    let mut next: HashMap<NodeId, usize> = HashMap::new();
    for node in nodes.iter_mut().filter(|node| is_positional(node)) {
        let id = node.node;
        let from = next.entry(id).or_default();
        let rest = ordered.iter().enumerate().skip(*from);
        if let Some((index, original)) = rest.into_iter().find(|(_, other)| other.node == id) {
            *node = original.clone();
            *from = index + 1;
        }
    }
}
