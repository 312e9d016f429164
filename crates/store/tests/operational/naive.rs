//! Random trees, and a naive merge of two trees.

use espalier_yang::data::{Content, DataNode, DataTree};
use espalier_yang::{InstancePath, Keys, NodeId, NodeKind, Schema, Value};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};

const TEXTS: [&str; 6] = ["a", "b", "c", "d", "", "it's"];

pub struct Generator<'a> {
    pub schema: &'a Schema,
    pub random: &'a mut StdRng,
}

impl Generator<'_> {
    pub fn tree(&mut self, roots: &[NodeId]) -> DataTree {
        let nodes = self.nodes(roots);
        DataTree { nodes }
    }

    fn nodes(&mut self, ids: &[NodeId]) -> Vec<DataNode> {
        let mut nodes = Vec::new();
        for &id in ids {
            let node = self.schema.node(id);
            let is_key = node.as_value().is_some_and(|leaf| leaf.is_key);
            if is_key || self.random.random_ratio(1, 3) {
                continue;
            }
            match &node.kind {
                NodeKind::Leaf(_) => nodes.push(self.leaf(id)),
                NodeKind::LeafList(_) => self.entries(id, |this, id| this.leaf(id), &mut nodes),
                NodeKind::List(_) => self.entries(id, Self::inner, &mut nodes),
                _ => nodes.push(self.inner(id)),
            }
        }
        nodes
    }

    fn entries(
        &mut self,
        id: NodeId,
        one: impl Fn(&mut Self, NodeId) -> DataNode,
        nodes: &mut Vec<DataNode>,
    ) {
        let count = self.random.random_range(0..5);
        let mut entries: Vec<DataNode> = (0..count).map(|_| one(self, id)).collect();
        let is_without_keys = has_no_identity(self.schema, id);
        let mut seen: Vec<Vec<Value>> = Vec::new();
        entries.retain(|entry| {
            let keys = identity(self.schema, entry);
            let is_new = is_without_keys || !seen.contains(&keys);
            seen.push(keys);
            is_new
        });
        entries.shuffle(self.random);
        nodes.extend(entries);
    }

    fn inner(&mut self, id: NodeId) -> DataNode {
        let node = self.schema.node(id);
        let mut children: Vec<DataNode> = node.keys().iter().map(|&key| self.leaf(key)).collect();
        children.extend(self.nodes(&node.children));
        DataNode::new(id, Content::Inner(children))
    }

    fn leaf(&mut self, id: NodeId) -> DataNode {
        let text = match &*self.schema.node(id).name {
            "n" | "reading" | "code" | "at" | "b" => self.random.random_range(0..5).to_string(),
            "up" => "true".to_owned(),
            _ => (*TEXTS.choose(self.random).expect("a text")).to_owned(),
        };
        let leaf = self.schema.node(id).as_value().expect("a leaf");
        let names = espalier_yang::schema::ModuleNames {
            leaf_module: self.schema.node(id).module,
        };
        let value = leaf.value_type.parse(self.schema, &text, &names);
        DataNode::new(id, Content::Value(value.expect("a value")))
    }
}

/// Whether entries of a list or leaf-list have no identity.
pub fn has_no_identity(schema: &Schema, id: NodeId) -> bool {
    let node = schema.node(id);
    match node.kind {
        NodeKind::List(_) => node.keys().is_empty(),
        NodeKind::LeafList(_) => !node.is_config,
        _ => false,
    }
}

pub fn identity(schema: &Schema, node: &DataNode) -> Vec<Value> {
    match node.value() {
        Some(value) => vec![value.clone()],
        None => node
            .keys(schema)
            .expect("keys")
            .into_iter()
            .cloned()
            .collect(),
    }
}

/// Merges one tree over another.
pub fn merge(schema: &Schema, below: &mut Vec<DataNode>, above: &[DataNode]) {
    for node in above {
        let kind = schema.node(node.node);
        let is_leaf = matches!(kind.kind, NodeKind::Leaf(_));
        let is_same = |other: &DataNode| {
            other.node == node.node
                && !has_no_identity(schema, node.node)
                && (is_leaf || identity(schema, other) == identity(schema, node))
        };
        let same = below.iter_mut().find(|other| is_same(other));
        match (same, &node.content) {
            (None, _) => below.push(node.clone()),
            (Some(same), Content::Inner(children)) => {
                if let Content::Inner(own) = &mut same.content {
                    merge(schema, own, children);
                }
            }
            (Some(same), _) => same.content = node.content.clone(),
        }
    }
}

/// The nodes at a path of a tree.
pub fn at<'t>(schema: &Schema, nodes: &'t [DataNode], path: &InstancePath) -> Vec<&'t DataNode> {
    let mut found: Vec<&DataNode> = Vec::new();
    let mut siblings: Vec<&DataNode> = nodes.iter().collect();
    for step in &path.steps {
        found = siblings
            .into_iter()
            .filter(|node| node.node == step.node)
            .filter(|node| match &step.keys {
                Keys::Values(values) => identity(schema, node) == *values,
                _ => true,
            })
            .collect();
        siblings = found.iter().flat_map(|node| node.children()).collect();
    }
    found
}

/// A path of a node that is in a tree, or could be.
pub fn any_path(schema: &Schema, random: &mut StdRng, nodes: &[DataNode]) -> InstancePath {
    let mut path = InstancePath::root();
    let mut siblings = nodes;
    while let Some(node) = siblings.choose(random) {
        let is_leaf = matches!(schema.node(node.node).kind, NodeKind::Leaf(_));
        if has_no_identity(schema, node.node) {
            return path.child(node.node, Keys::None);
        }
        let keys = match identity(schema, node) {
            values if !values.is_empty() && !is_leaf => Keys::Values(values),
            _ => Keys::None,
        };
        if keys != Keys::None && random.random_ratio(1, 5) {
            return path.child(node.node, Keys::None);
        }
        path = path.child(node.node, keys);
        siblings = node.children();
        if random.random_ratio(1, 3) {
            break;
        }
    }
    path
}
