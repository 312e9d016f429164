//! Random documents and edits, shaped by a schema.

use espalier_yang::data::{Annotation, Content, DataNode, DataTree, Operation};
use espalier_yang::schema::{IntegerWidth, ModuleNames, Node, Type, TypeKind};
use espalier_yang::{InstancePath, Keys, NodeId, NodeKind, Schema, Value};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};

use crate::edit::Change;
use crate::reference::{below, entry_keys};

/// Texts with everything that is difficult in paths and keys.
const TEXTS: [&str; 12] = [
    "",
    "a",
    "b",
    "c",
    "a/b,c",
    "50%",
    "it's",
    "say \"x\"",
    " ",
    "å\u{1f600}",
    "[k='v']",
    "both ' and \"",
];

const OPERATIONS: [Operation; 6] = [
    Operation::Merge,
    Operation::Replace,
    Operation::Create,
    Operation::Delete,
    Operation::Remove,
    Operation::None,
];

/// Whether nodes of an edit have operations of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Document,
    Edit,
}

pub struct Generator<'a> {
    pub schema: &'a Schema,
    pub random: &'a mut StdRng,
}

impl Generator<'_> {
    fn chance(&mut self, one_in: u32) -> bool {
        self.random.random_ratio(1, one_in)
    }

    /// A text for a leaf of a type, mostly out of a few, so that keys collide.
    fn text(&mut self, value_type: &Type) -> String {
        let few = |texts: &[&str], random: &mut StdRng| (*texts.choose(random).unwrap()).to_owned();
        match &value_type.kind {
            TypeKind::String(..) if self.random.random_ratio(1, 16) => {
                let end = self.random.random_range(0..3);
                format!("{}{end}", "long ".repeat(820))
            }
            TypeKind::String(..) => few(&TEXTS, self.random),
            TypeKind::Integer(width, _) => few(integers(*width), self.random),
            TypeKind::Decimal64(..) => few(&["0.0", "-1.5", "5.0", "2.5", "-9.0"], self.random),
            TypeKind::Boolean => few(&["true", "false"], self.random),
            TypeKind::Binary(_) => few(&["", "YWJj", "AP8="], self.random),
            TypeKind::Bits(_) => few(&["", "r", "r x", "r w x"], self.random),
            TypeKind::Enumeration(items) => items.choose(self.random).unwrap().name.to_string(),
            TypeKind::IdentityRef(bases) => {
                let derived = &self.schema.identity(bases[0]).derived;
                let one = self.schema.identity(*derived.choose(self.random).unwrap());
                format!("{}:{}", self.schema.module(one.module).name, one.name)
            }
            TypeKind::InstanceIdentifier { .. } => few(&["/m:top", "/m:plain/x"], self.random),
            TypeKind::LeafRef { target_type, .. } => self.text(target_type),
            TypeKind::Union(members) => {
                let member = members.choose(self.random).unwrap();
                self.text(member)
            }
            TypeKind::Empty => String::new(),
        }
    }

    pub fn value(&mut self, id: NodeId) -> Value {
        let node = self.schema.node(id);
        let value_type = &node.as_value().unwrap().value_type;
        let names = ModuleNames {
            leaf_module: node.module,
        };
        loop {
            let text = self.text(value_type);
            if let Ok(value) = value_type.parse(self.schema, &text, &names) {
                return value;
            }
        }
    }

    /// Some children of a node; few where it is deep.
    pub fn children(&mut self, parent: Option<NodeId>, depth: u32, kind: Kind) -> Vec<DataNode> {
        let schema = self.schema;
        let all = parent.map_or(schema.roots(), |parent| &schema.node(parent).children);
        let mut nodes = Vec::new();
        for &child in all {
            let is_key = schema
                .node(child)
                .as_value()
                .is_some_and(|leaf| leaf.is_key);
            if !is_key && self.chance(2 + depth) && is_data(schema.node(child)) {
                self.instances(child, depth, kind, &mut nodes);
            }
        }
        // In an edit too: data of two cases are rejected.
        self.settle_cases(&mut nodes);
        nodes
    }

    /// Keeps only the first generated case of each choice.
    fn settle_cases(&mut self, nodes: &mut Vec<DataNode>) {
        let schema = self.schema;
        let mut kept: Vec<DataNode> = Vec::new();
        for node in nodes.drain(..) {
            let has_rival = kept
                .iter()
                .any(|one| crate::reference::is_rival(schema, one.node, node.node));
            if !has_rival {
                kept.push(node);
            }
        }
        *nodes = kept;
    }

    fn instances(&mut self, id: NodeId, depth: u32, kind: Kind, nodes: &mut Vec<DataNode>) {
        let node = self.schema.node(id);
        let count = match node.is_list() || node.is_leaf_list() {
            true => self.random.random_range(1..5),
            false => 1,
        };
        let first = nodes.len();
        for _ in 0..count {
            let new = self.instance(id, depth, kind);
            let keys = entry_keys(self.schema, &new);
            let is_free = node.is_leaf_list() && !node.is_config || keys.is_empty();
            let is_twice = nodes[first..]
                .iter()
                .any(|one| entry_keys(self.schema, one) == keys);
            if is_free || !is_twice {
                nodes.push(new);
            }
        }
    }

    /// One instance of a node, with its content.
    pub fn instance(&mut self, id: NodeId, depth: u32, kind: Kind) -> DataNode {
        let node = self.schema.node(id);
        let content = match &node.kind {
            NodeKind::Leaf(_) | NodeKind::LeafList(_) => Content::Value(self.value(id)),
            NodeKind::AnyData | NodeKind::AnyXml => {
                Content::Any(format!("{{\"a\":{}}}", self.random.random_range(0..3)))
            }
            _ => {
                let mut children: Vec<DataNode> = node
                    .keys()
                    .iter()
                    .map(|&key| DataNode::new(key, Content::Value(self.value(key))))
                    .collect();
                children.extend(self.children(Some(id), depth + 1, kind));
                Content::Inner(children)
            }
        };
        let mut data = DataNode::new(id, content);
        if kind == Kind::Edit {
            self.annotate(&mut data);
        }
        data
    }

    fn annotate(&mut self, data: &mut DataNode) {
        if self.chance(5) {
            let operation = *OPERATIONS.choose(self.random).unwrap();
            data.annotations.push(Annotation::Operation(operation));
            if matches!(
                operation,
                Operation::Delete | Operation::Remove | Operation::None
            ) {
                let node = self.schema.node(data.node);
                let may_be_bare = node.as_value().is_some() || node.is_list();
                if may_be_bare && operation != Operation::None && self.chance(2) {
                    data.content = Content::Bare;
                }
                return;
            }
        }
        let node = self.schema.node(data.node);
        let is_user_ordered = node.is_positional() && node.is_config;
        if is_user_ordered && self.chance(2) {
            self.insert(data);
        }
    }

    fn insert(&mut self, data: &mut DataNode) {
        let place = *["first", "last", "before", "after"]
            .choose(self.random)
            .unwrap();
        if matches!(place, "before" | "after") {
            let node = self.schema.node(data.node);
            let point = match node.is_leaf_list() {
                true => Annotation::Value(self.value(data.node).to_string().into()),
                false => {
                    let predicate = |&key: &NodeId| {
                        let name = &self.schema.node(key).name;
                        let value = self.value(key).to_string().replace('\'', "''");
                        format!("[{name}='{value}']")
                    };
                    let predicates: String = node.keys().iter().map(predicate).collect();
                    Annotation::Key(predicates.into())
                }
            };
            data.annotations.push(point);
        }
        data.annotations.push(Annotation::Insert(place.into()));
    }

    pub fn document(&mut self) -> DataTree {
        DataTree {
            nodes: self.children(None, 0, Kind::Document),
        }
    }

    /// A random path, mostly of an existing node.
    pub fn path(&mut self, tree: &DataTree) -> InstancePath {
        let schema = self.schema;
        let mut path = InstancePath::root();
        loop {
            let parent = path.target();
            let siblings = below(schema, tree, &path).unwrap_or_default();
            let step = match siblings.choose(self.random) {
                Some(data) if !self.chance(12) => Some((data.node, self.keys_of(siblings, data))),
                _ => self.random_step(parent),
            };
            let Some((node, keys)) = step else {
                return path;
            };
            let is_entry = schema.node(node).is_list() || schema.node(node).is_leaf_list();
            if is_entry && self.chance(8) {
                return path.child(node, Keys::None);
            }
            path = path.child(node, keys);
            let has_children = !schema.node(node).children.is_empty();
            if !has_children || self.chance(3) {
                return path;
            }
        }
    }

    fn keys_of(&mut self, siblings: &[DataNode], data: &DataNode) -> Keys {
        let node = self.schema.node(data.node);
        if !node.is_list() && !node.is_leaf_list() {
            return Keys::None;
        }
        if node.is_positional() && !node.is_config {
            let same = siblings.iter().filter(|one| one.node == data.node);
            return Keys::Position(self.random.random_range(0..same.count() as u64) + 1);
        }
        Keys::Values(entry_keys(self.schema, data))
    }

    fn random_step(&mut self, parent: Option<NodeId>) -> Option<(NodeId, Keys)> {
        let schema = self.schema;
        let all = parent.map_or(schema.roots(), |parent| &schema.node(parent).children);
        let id = *all.choose(self.random)?;
        let node = schema.node(id);
        let keys = match &node.kind {
            NodeKind::List(_) | NodeKind::LeafList(_)
                if node.is_positional() && !node.is_config =>
            {
                Keys::Position(self.random.random_range(1..4))
            }
            NodeKind::LeafList(_) => Keys::Values(vec![self.value(id)]),
            NodeKind::List(list) => {
                Keys::Values(list.keys.iter().map(|&key| self.value(key)).collect())
            }
            _ => Keys::None,
        };
        Some((id, keys))
    }

    /// One random change, good or bad.
    pub fn change(&mut self, tree: &DataTree) -> Change {
        match self.random.random_range(0..100) {
            0..15 => Change::Delete(self.path(tree)),
            15..25 => Change::Remove(self.path(tree)),
            25 => Change::ReplaceAll(self.document()),
            26 => Change::Delete(InstancePath::root()),
            _ => self.change_below(tree),
        }
    }

    fn change_below(&mut self, tree: &DataTree) -> Change {
        let mut at = match self.chance(2) {
            true => InstancePath::root(),
            false => self.path(tree),
        };
        let schema = self.schema;
        while at.steps.last().is_some_and(|step| {
            let node = schema.node(step.node);
            node.children.is_empty() || node.is_list() && step.keys == Keys::None
        }) {
            at = at.parent().unwrap();
        }
        let depth = at.steps.len() as u32 + 1;
        let mut nodes = self.children(at.target(), depth, Kind::Edit);
        if self.chance(2) {
            nodes.truncate(2);
        }
        let operation = match self.random.random_range(0..20) {
            0..10 => Operation::Merge,
            10..14 => Operation::Replace,
            14..16 => Operation::Create,
            16 => Operation::Delete,
            17 => Operation::Remove,
            _ => Operation::None,
        };
        Change::Tree(at, DataTree { nodes }, operation)
    }

    /// The same tree with siblings in another order, including keys; entries in a kept order stay in it.
    pub fn shuffle(&mut self, nodes: &mut [DataNode]) {
        for node in nodes.iter_mut() {
            if let Content::Inner(children) = &mut node.content {
                self.shuffle(children);
            }
        }
        let schema = self.schema;
        let original = nodes.to_vec();
        nodes.shuffle(self.random);
        let is_kept = |node: &DataNode| schema.node(node.node).is_positional();
        let mut kept: Vec<DataNode> = original.into_iter().filter(is_kept).collect();
        for node in nodes.iter_mut().filter(|node| is_kept(node)) {
            let next = kept.iter().position(|one| one.node == node.node).unwrap();
            *node = kept.remove(next);
        }
    }
}

fn is_data(node: &Node) -> bool {
    !matches!(
        node.kind,
        NodeKind::Rpc | NodeKind::Action | NodeKind::Notification
    )
}

fn integers(width: IntegerWidth) -> &'static [&'static str] {
    match width {
        IntegerWidth::Int8 => &["-128", "-1", "0", "127"],
        IntegerWidth::Int16 => &["-32768", "0", "5", "50", "256"],
        IntegerWidth::Int32 => &["-2147483648", "-256", "0", "65536"],
        IntegerWidth::Int64 => &["-9223372036854775808", "-1", "0", "9223372036854775807"],
        IntegerWidth::Uint8 => &["0", "1", "255"],
        IntegerWidth::Uint16 => &["0", "80", "65535"],
        IntegerWidth::Uint32 => &["0", "9", "4294967295"],
        IntegerWidth::Uint64 => &["0", "1", "18446744073709551615"],
    }
}
