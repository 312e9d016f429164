//! Random data of a schema, mostly with everything that the schema requires.

use std::collections::HashMap;

use espalier_yang::data::{Content, DataNode, DataTree};
use espalier_yang::schema::{ModuleNames, Type, TypeKind};
use espalier_yang::{InstancePath, Keys, NodeId, NodeKind, Schema, Value};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::reference::entry_keys;

/// Existing values and paths that references can refer to.
#[derive(Default)]
pub struct ReferenceTargets {
    values: HashMap<NodeId, Vec<Value>>,
    paths: Vec<InstancePath>,
}

impl ReferenceTargets {
    pub fn of(schema: &Schema, tree: &DataTree) -> Self {
        let mut targets = Self::default();
        targets.add(schema, &InstancePath::root(), &tree.nodes);
        targets
    }

    fn add(&mut self, schema: &Schema, parent: &InstancePath, nodes: &[DataNode]) {
        for data in nodes {
            let path = parent.child(data.node, keys_of(schema, data));
            if let Some(value) = data.value() {
                self.values
                    .entry(data.node)
                    .or_default()
                    .push(value.clone());
            }
            self.add(schema, &path, data.children());
            self.paths.push(path);
        }
    }
}

/// The keys of a step to a node.
pub fn keys_of(schema: &Schema, data: &DataNode) -> Keys {
    let node = schema.node(data.node);
    match node.is_list() || node.is_leaf_list() {
        true => Keys::Values(entry_keys(schema, data)),
        false => Keys::None,
    }
}

/// Generates data.
pub struct DataGenerator<'a> {
    pub schema: &'a Schema,
    pub random: &'a mut StdRng,
    pub targets: ReferenceTargets,
}

impl DataGenerator<'_> {
    pub fn chance(&mut self, percent: u32) -> bool {
        self.random.random_ratio(percent, 100)
    }

    fn pick(&mut self, texts: &[&str]) -> String {
        (*texts.choose(self.random).unwrap()).to_owned()
    }

    fn text(&mut self, value_type: &Type) -> String {
        match &value_type.kind {
            TypeKind::Integer(_, range) => {
                let part = range.parts.first().unwrap();
                self.random.random_range(part.min..=part.max).to_string()
            }
            TypeKind::Decimal64(..) => self.pick(&["0.0", "0.5", "1.5", "2.0"]),
            TypeKind::Boolean => self.pick(&["true", "false"]),
            TypeKind::String(..) => self.pick(&["a", "b", "ab", "ba"]),
            TypeKind::Bits(_) => self.pick(&["", "b0", "b0 b1", "b2", "b1 b2"]),
            TypeKind::Enumeration(items) => items.choose(self.random).unwrap().name.to_string(),
            TypeKind::IdentityRef(bases) => {
                let derived = &self.schema.identity(bases[0]).derived;
                let one = self.schema.identity(*derived.choose(self.random).unwrap());
                format!("{}:{}", self.schema.module(one.module).name, one.name)
            }
            TypeKind::InstanceIdentifier { .. } => self.instance_identifier(),
            TypeKind::LeafRef {
                target,
                target_type,
                ..
            } => {
                let targets = target.and_then(|target| self.targets.values.get(&target));
                let targets = targets
                    .and_then(|values| values.choose(self.random))
                    .cloned();
                match targets {
                    Some(value) if self.chance(85) => value.to_string(),
                    _ => self.text(target_type),
                }
            }
            TypeKind::Union(members) => {
                let member = members.choose(self.random).unwrap();
                self.text(member)
            }
            TypeKind::Empty | TypeKind::Binary(_) => String::new(),
        }
    }

    /// A path of an existing node, or of some container or leaf that need not exist.
    fn instance_identifier(&mut self) -> String {
        let targets = self.targets.paths.choose(self.random).cloned();
        let path = match targets {
            Some(path) if self.random.random_ratio(8, 10) => path,
            _ => {
                let mut path = InstancePath::root();
                let mut all = self.schema.roots();
                while let Some(&id) = all.choose(self.random) {
                    let node = self.schema.node(id);
                    if node.is_list() || node.is_leaf_list() {
                        break;
                    }
                    path = path.child(id, Keys::None);
                    all = &node.children;
                }
                match path.is_root() {
                    true => return "/m:none".to_owned(),
                    false => path,
                }
            }
        };
        let text = path.to_instance_identifier(self.schema);
        // libyang does not support a path within a key of a path within a key.
        match text.contains("'/") || text.contains("\"/") {
            true => "/m:none".to_owned(),
            false => text,
        }
    }

    /// A value of a leaf; `None` if no value of its type is available.
    pub fn value(&mut self, id: NodeId) -> Option<Value> {
        let node = self.schema.node(id);
        let value_type = &node.as_value().unwrap().value_type;
        let names = ModuleNames {
            leaf_module: node.module,
        };
        (0..20).find_map(|_| {
            let text = self.text(value_type);
            value_type.parse(self.schema, &text, &names).ok()
        })
    }

    /// Some children of a node, without keys: the mandatory ones, and some others.
    pub fn children(&mut self, parent: Option<NodeId>, depth: u32) -> Vec<DataNode> {
        let schema = self.schema;
        let all = parent.map_or(schema.roots(), |parent| &schema.node(parent).children);
        let mut cases: HashMap<u32, Option<u32>> = HashMap::new();
        let mut nodes = Vec::new();
        for &child in all {
            let node = schema.node(child);
            let is_key = node.as_value().is_some_and(|leaf| leaf.is_key);
            let is_chosen = node.cases.iter().all(|one| {
                let chosen = cases.entry(one.choice).or_insert_with(|| {
                    let choice = &schema.choices()[one.choice as usize];
                    let percent = if choice.is_mandatory { 95 } else { 60 };
                    let count = choice.cases.len() as u32;
                    let case = self.random.random_range(0..count);
                    self.random.random_ratio(percent, 100).then_some(case)
                });
                *chosen == Some(one.case)
            });
            if !is_key && is_chosen {
                self.instances(child, depth, &mut nodes);
            }
        }
        nodes
    }

    fn instances(&mut self, id: NodeId, depth: u32, nodes: &mut Vec<DataNode>) {
        let node = self.schema.node(id);
        let (min, max) = match &node.kind {
            NodeKind::List(list) => (list.min_elements, list.max_elements),
            NodeKind::LeafList(value) => (value.min_elements, value.max_elements),
            _ => (u32::from(node.is_mandatory), Some(1)),
        };
        let is_wanted = match min {
            0 => {
                let often = if node.is_np_container() || !node.cases.is_empty() {
                    70
                } else {
                    45
                };
                let percent = often / (1 + depth / 3);
                self.chance(percent)
            }
            _ => self.chance(97),
        };
        if !is_wanted {
            // A container without presence may have mandatory content nevertheless.
            if node.is_np_container() && self.chance(80) {
                let demanded = self.demanded(id, depth);
                if !demanded.is_empty() {
                    nodes.push(DataNode::new(id, Content::Inner(demanded)));
                }
            }
            return;
        }
        let most = max.unwrap_or(3).min(min + 2).max(1);
        let count = self.random.random_range(min.max(1)..=most.max(min));
        let first = nodes.len();
        for _ in 0..count * 2 {
            let Some(new) = self.instance(id, depth) else {
                return;
            };
            let keys = entry_keys(self.schema, &new);
            let is_twice = nodes[first..]
                .iter()
                .any(|one| entry_keys(self.schema, one) == keys);
            let is_entry = node.is_list() || node.is_leaf_list();
            if !is_entry || !is_twice {
                nodes.push(new);
            }
            if nodes.len() - first == count as usize {
                return;
            }
        }
    }

    /// Only the mandatory children.
    fn demanded(&mut self, parent: NodeId, depth: u32) -> Vec<DataNode> {
        let schema = self.schema;
        let mut nodes = self.children(Some(parent), depth + 1);
        nodes.retain(|data| {
            let node = schema.node(data.node);
            let min = match &node.kind {
                NodeKind::List(list) => list.min_elements,
                NodeKind::LeafList(value) => value.min_elements,
                _ => u32::from(node.is_mandatory || node.is_np_container()),
            };
            min > 0
                || node
                    .cases
                    .iter()
                    .any(|one| schema.choices()[one.choice as usize].is_mandatory)
        });
        nodes
    }

    /// One instance of a node, with its content; `None` if a value is not available.
    pub fn instance(&mut self, id: NodeId, depth: u32) -> Option<DataNode> {
        let node = self.schema.node(id);
        let content = match &node.kind {
            NodeKind::Leaf(_) | NodeKind::LeafList(_) => Content::Value(self.value(id)?),
            NodeKind::AnyData => {
                Content::Any(format!("{{\"x\":{}}}", self.random.random_range(0..3)))
            }
            _ => {
                let mut children = Vec::new();
                for &key in node.keys() {
                    children.push(DataNode::new(key, Content::Value(self.value(key)?)));
                }
                children.extend(self.children(Some(id), depth + 1));
                Content::Inner(children)
            }
        };
        Some(DataNode::new(id, content))
    }
}
