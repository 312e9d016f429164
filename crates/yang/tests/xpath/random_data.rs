//! Random trees with few different values, so that comparisons are often true.

use std::collections::{HashMap, HashSet};

use espalier_yang::data::{Content, DataNode, DataTree};
use espalier_yang::path::{InstancePath, Keys};
use espalier_yang::schema::{ModuleNames, Schema, Type, TypeKind};
use espalier_yang::{NodeId, NodeKind, Value};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// The maximum number of entries of one list.
const ENTRIES_MAX: usize = 4;

/// A tree in system order.
pub fn tree(schema: &Schema, random: &mut StdRng) -> DataTree {
    let mut data = Data { schema, random };
    let mut tree = DataTree {
        nodes: data.siblings(schema.roots(), 0.95),
    };
    tree.normalise(schema);
    tree
}

/// A text that is a value of a type, usually canonical.
pub fn text(schema: &Schema, random: &mut StdRng, of: &Type) -> String {
    let pool: &[&str] = match &of.kind {
        TypeKind::Integer(..) => &["0", "1", "5", "10", "100"],
        TypeKind::Decimal64(..) => &["0.0", "1.5", "-1.0", "10.25"],
        TypeKind::Boolean => &["true", "false"],
        TypeKind::Empty => &[""],
        TypeKind::Enumeration(_) => &["a", "b", "c"],
        TypeKind::Bits(_) => &["", "r", "s", "r t", "r s t"],
        TypeKind::IdentityRef(_) => &["o:left", "o:right", "o:far-left"],
        TypeKind::Union(_) => &["7", "a", "b", "10"],
        TypeKind::LeafRef { target_type, .. } => return text(schema, random, target_type),
        TypeKind::InstanceIdentifier { .. } => return instance(schema, random),
        _ => &["a", "b", "c", "10", "1"],
    };
    (*pool.choose(random).expect("a value")).to_owned()
}

/// The path of some instance that may exist.
fn instance(schema: &Schema, random: &mut StdRng) -> String {
    let mut path = InstancePath::root();
    let mut children = schema.roots();
    loop {
        let id = *children.choose(random).expect("a child");
        let keys = match &schema.node(id).kind {
            NodeKind::List(list) if list.keys.is_empty() => Keys::Position(1),
            NodeKind::List(list) => {
                let key = |key: &NodeId| value(schema, random, *key);
                Keys::Values(list.keys.iter().filter_map(key).collect())
            }
            NodeKind::LeafList(_) if !schema.node(id).is_config => Keys::Position(1),
            NodeKind::LeafList(_) => Keys::Values(value(schema, random, id).into_iter().collect()),
            _ => Keys::None,
        };
        path = path.child(id, keys);
        children = &schema.node(id).children;
        if children.is_empty() || random.random_bool(0.2) {
            return path.to_instance_identifier(schema);
        }
    }
}

fn value(schema: &Schema, random: &mut StdRng, id: NodeId) -> Option<Value> {
    let node = schema.node(id);
    let of = &node.as_value()?.value_type;
    let names = ModuleNames {
        leaf_module: node.module,
    };
    of.parse(schema, &text(schema, random, of), &names).ok()
}

struct Data<'a> {
    schema: &'a Schema,
    random: &'a mut StdRng,
}

impl Data<'_> {
    fn siblings(&mut self, nodes: &[NodeId], presence: f64) -> Vec<DataNode> {
        let mut cases: HashMap<u32, u32> = HashMap::new();
        let mut siblings = Vec::new();
        for &id in nodes {
            let node = self.schema.node(id);
            let is_key = node.as_value().is_some_and(|leaf| leaf.is_key);
            if is_key || !self.random.random_bool(presence) {
                continue;
            }
            let is_open = |case: &espalier_yang::schema::CaseChoice| {
                *cases.get(&case.choice).unwrap_or(&case.case) == case.case
            };
            if !node.cases.iter().all(is_open) {
                continue;
            }
            let instances = self.instances(id);
            if !instances.is_empty() {
                cases.extend(node.cases.iter().map(|case| (case.choice, case.case)));
            }
            siblings.extend(instances);
        }
        siblings
    }

    fn instances(&mut self, id: NodeId) -> Vec<DataNode> {
        let node = self.schema.node(id);
        let children = node.children.clone();
        match &node.kind {
            NodeKind::Container { presence } => {
                let below = self.siblings(&children, 0.6);
                let is_there = *presence || !below.is_empty();
                let container = DataNode::new(id, Content::Inner(below));
                is_there.then_some(container).into_iter().collect()
            }
            NodeKind::List(list) => {
                let mut seen = HashSet::new();
                let mut entries = Vec::new();
                for _ in 0..self.random.random_range(1..=ENTRIES_MAX) {
                    let leaves = list.keys.iter().filter_map(|&key| self.leaf(key));
                    let mut below: Vec<DataNode> = leaves.collect();
                    let keys: Vec<_> = below.iter().map(|key| key.value().cloned()).collect();
                    below.extend(self.siblings(&children, 0.6));
                    if keys.is_empty() || seen.insert(keys) {
                        entries.push(DataNode::new(id, Content::Inner(below)));
                    }
                }
                entries
            }
            NodeKind::LeafList(_) => {
                let count = self.random.random_range(1..=ENTRIES_MAX);
                let mut entries: Vec<_> = (0..count).filter_map(|_| self.leaf(id)).collect();
                let mut seen = HashSet::new();
                let is_config = self.schema.node(id).is_config;
                entries.retain(|entry| seen.insert(entry.value().cloned()) || !is_config);
                entries
            }
            _ => self.leaf(id).into_iter().collect(),
        }
    }

    fn leaf(&mut self, id: NodeId) -> Option<DataNode> {
        let value = value(self.schema, self.random, id)?;
        Some(DataNode::new(id, Content::Value(value)))
    }
}
