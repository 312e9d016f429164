//! Random edits of a tree.

use espalier_yang::data::{Annotation, Content, DataNode, DataTree, Operation};
use espalier_yang::schema::Node;
use espalier_yang::{InstancePath, Keys, NodeId, Schema};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::documents::{DataGenerator, ReferenceTargets, keys_of};
use crate::edit::{Change, apply};
use crate::reference::below;

/// How often a change is regenerated if it is invalid by itself (it creates an existing node, and so on).
const TRIES_MAX: usize = 6;

/// Generates the changes of one commit, and their result, if they do not contradict the tree.
pub fn changes(
    schema: &Schema,
    random: &mut StdRng,
    tree: &DataTree,
) -> (Vec<Change>, Option<DataTree>) {
    let count = *[1, 1, 1, 1, 1, 2, 2, 3, 4, 5].choose(random).unwrap();
    let mut changes = Vec::new();
    let mut result = tree.clone();
    for _ in 0..count {
        let mut tries = 0;
        let change = loop {
            let change = Editor::new(schema, random, &result).change(&result);
            tries += 1;
            let mut next = result.clone();
            if apply(schema, &mut next, std::slice::from_ref(&change)).is_ok() {
                result = next;
                break change;
            }
            if tries == TRIES_MAX && random.random_ratio(1, 4) {
                changes.push(change);
                return (changes, None);
            }
        };
        changes.push(change);
    }
    (changes, Some(result))
}

struct Editor<'a> {
    schema: &'a Schema,
    generator: DataGenerator<'a>,
}

impl<'a> Editor<'a> {
    fn new(schema: &'a Schema, random: &'a mut StdRng, tree: &DataTree) -> Self {
        let targets = ReferenceTargets::of(schema, tree);
        let generator = DataGenerator {
            schema,
            random,
            targets,
        };
        Self { schema, generator }
    }

    fn change(&mut self, tree: &DataTree) -> Change {
        match self.generator.random.random_range(0..100) {
            0..15 if !tree.nodes.is_empty() => self.delete(tree),
            15..17 => self.document(),
            17..40 => self.disturb(tree).unwrap_or_else(|| self.set_one(tree)),
            40..62 => self.set_one(tree),
            _ => self.put_some(tree),
        }
    }

    fn document(&mut self) -> Change {
        let nodes = self.generator.children(None, 0);
        Change::ReplaceAll(DataTree { nodes })
    }

    /// A path to an instance of random depth.
    fn place(&mut self, tree: &DataTree, stop: u32) -> InstancePath {
        let schema = self.schema;
        let mut path = InstancePath::root();
        loop {
            let siblings = below(schema, tree, &path).unwrap_or_default();
            let Some(data) = siblings.choose(self.generator.random) else {
                return path;
            };
            path = path.child(data.node, keys_of(schema, data));
            if schema.node(data.node).as_value().is_some() || self.generator.chance(stop) {
                return path;
            }
        }
    }

    /// A path to a node with children.
    fn inner_place(&mut self, tree: &DataTree) -> InstancePath {
        let mut path = match self.generator.chance(30) {
            true => InstancePath::root(),
            false => self.place(tree, 30),
        };
        if let Some(target) = path.target()
            && self.schema.node(target).children.is_empty()
        {
            path = path.parent().unwrap();
        }
        path
    }

    fn delete(&mut self, tree: &DataTree) -> Change {
        let mut path = self.place(tree, 25);
        let last = path.target().map(|target| self.schema.node(target));
        if let Some(node) = last
            && (node.is_list() || node.is_leaf_list())
            && self.generator.chance(15)
        {
            let target = node.id;
            path = path.parent().unwrap().child(target, Keys::None);
        }
        match self.generator.chance(60) {
            true => Change::Delete(path),
            false => Change::Remove(path),
        }
    }

    fn child_of(&mut self, path: &InstancePath) -> Option<NodeId> {
        let schema = self.schema;
        let all = path
            .target()
            .map_or(schema.roots(), |at| &schema.node(at).children);
        let is_key = |id: &NodeId| schema.node(*id).as_value().is_some_and(|leaf| leaf.is_key);
        let children: Vec<NodeId> = all.iter().copied().filter(|id| !is_key(id)).collect();
        children.choose(self.generator.random).copied()
    }

    /// Sets, creates or moves one leaf or entry.
    fn set_one(&mut self, tree: &DataTree) -> Change {
        let path = self.inner_place(tree);
        let new = self.child_of(&path).and_then(|child| {
            let depth = path.steps.len() as u32 + 2;
            self.generator.instance(child, depth)
        });
        let Some(mut new) = new else {
            return self.document();
        };
        if self.schema.node(new.node).is_positional() && self.generator.chance(60) {
            self.insert(tree, &path, &mut new);
        }
        let operation = match self.generator.random.random_range(0..10) {
            0..7 => Operation::Merge,
            7..9 => Operation::Replace,
            _ => Operation::Create,
        };
        Change::Tree(path, DataTree { nodes: vec![new] }, operation)
    }

    /// Sets or deletes a node that a condition on a node of the tree reads.
    fn disturb(&mut self, tree: &DataTree) -> Option<Change> {
        let schema = self.schema;
        let mut texts: Vec<&str> = Vec::new();
        let mut next: Vec<&DataNode> = tree.nodes.iter().collect();
        while let Some(data) = next.pop() {
            let node = schema.node(data.node);
            // Conditions of existence get a higher weight: fewer nodes have them.
            let whens = node.whens.iter().chain(&node.whens).chain(&node.whens);
            texts.extend(node.musts.iter().chain(whens).map(|one| &*one.text));
            next.extend(data.children());
        }
        let text = texts.choose(self.generator.random)?;
        let is_read = |node: &Node| {
            let is_key = node.as_value().is_some_and(|leaf| leaf.is_key);
            let mut named = text.match_indices(&*node.name);
            !is_key
                && named.any(|(at, name)| {
                    let is_letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
                    let bytes = text.as_bytes();
                    !is_letter(bytes.get(at.wrapping_sub(1)))
                        && !is_letter(bytes.get(at + name.len()))
                })
        };
        let read: Vec<NodeId> = schema
            .nodes()
            .filter(|node| is_read(node))
            .map(|node| node.id)
            .collect();
        let node = schema.node(*read.choose(self.generator.random)?);
        let mut places = Vec::new();
        self.places_of(&tree.nodes, &InstancePath::root(), node.parent, &mut places);
        let place = places.choose(self.generator.random)?.clone();
        let siblings = below(schema, tree, &place).unwrap_or_default();
        let present: Vec<&DataNode> = siblings.iter().filter(|one| one.node == node.id).collect();
        if let Some(one) = present.choose(self.generator.random)
            && self.generator.chance(45)
        {
            return Some(Change::Delete(place.child(node.id, keys_of(schema, one))));
        }
        let new = self.generator.instance(node.id, 3)?;
        Some(Change::Tree(
            place,
            DataTree { nodes: vec![new] },
            Operation::Merge,
        ))
    }

    /// The paths of the instances of a node, including containers without presence that do not exist.
    fn places_of(
        &self,
        nodes: &[DataNode],
        at: &InstancePath,
        wanted: Option<NodeId>,
        places: &mut Vec<InstancePath>,
    ) {
        let Some(wanted) = wanted else {
            return places.push(InstancePath::root());
        };
        let mut chain = vec![wanted];
        while let Some(parent) = self.schema.node(*chain.last().unwrap()).parent {
            chain.push(parent);
        }
        let mut found = vec![(at.clone(), nodes)];
        for &step in chain.iter().rev() {
            let mut below = Vec::new();
            for (path, nodes) in found {
                let mut instances = nodes.iter().filter(|one| one.node == step).peekable();
                if instances.peek().is_none() && self.schema.node(step).is_np_container() {
                    below.push((path.child(step, Keys::None), &[][..]));
                }
                for one in instances {
                    below.push((path.child(step, keys_of(self.schema, one)), one.children()));
                }
            }
            found = below;
        }
        places.extend(found.into_iter().map(|(path, _)| path));
    }

    /// Several nodes, some with their own operations.
    fn put_some(&mut self, tree: &DataTree) -> Change {
        let path = self.inner_place(tree);
        let depth = path.steps.len() as u32;
        let mut nodes = self.generator.children(path.target(), depth);
        if self.generator.chance(40) {
            nodes.truncate(2);
        }
        if self.generator.chance(35) {
            let below = below(self.schema, tree, &path).unwrap_or_default().to_vec();
            self.annotate(&mut nodes, &below);
        }
        let operation = match self.generator.random.random_range(0..20) {
            0..14 => Operation::Merge,
            14..17 => Operation::Replace,
            17 => Operation::Create,
            18 => Operation::None,
            _ => Operation::Remove,
        };
        Change::Tree(path, DataTree { nodes }, operation)
    }

    /// Adds operations to some nodes, and adds some existing nodes to be deleted.
    fn annotate(&mut self, nodes: &mut Vec<DataNode>, present: &[DataNode]) {
        for data in nodes.iter_mut() {
            let there = present.iter().find(|one| {
                one.node == data.node && keys_of(self.schema, one) == keys_of(self.schema, data)
            });
            if let Content::Inner(children) = &mut data.content {
                let inside = there.map(|one| one.children().to_vec()).unwrap_or_default();
                let keys = self.schema.node(data.node).keys();
                let (mut others, mine): (Vec<_>, Vec<_>) = std::mem::take(children)
                    .into_iter()
                    .partition(|one| !keys.contains(&one.node));
                self.annotate(&mut others, &inside);
                *children = mine.into_iter().chain(others).collect();
            }
            if self.generator.chance(15) {
                let operations = [
                    Operation::Merge,
                    Operation::Replace,
                    Operation::Create,
                    Operation::Remove,
                ];
                let operation = *operations.choose(self.generator.random).unwrap();
                data.annotations.push(Annotation::Operation(operation));
            }
        }
        for data in present {
            let is_key = self
                .schema
                .node(data.node)
                .as_value()
                .is_some_and(|leaf| leaf.is_key);
            if !is_key && self.generator.chance(8) {
                let is_named = nodes.iter().any(|one| {
                    one.node == data.node && keys_of(self.schema, one) == keys_of(self.schema, data)
                });
                if !is_named {
                    let mut data = data.clone();
                    data.annotations
                        .push(Annotation::Operation(Operation::Delete));
                    nodes.push(data);
                }
            }
        }
    }

    fn insert(&mut self, tree: &DataTree, path: &InstancePath, data: &mut DataNode) {
        let schema = self.schema;
        let siblings = below(schema, tree, path).unwrap_or_default();
        let entries: Vec<&DataNode> = siblings
            .iter()
            .filter(|one| one.node == data.node)
            .collect();
        let place = *["first", "last", "before", "after"]
            .choose(self.generator.random)
            .unwrap();
        if matches!(place, "before" | "after") {
            let Some(point) = entries.choose(self.generator.random) else {
                return;
            };
            let annotation = match point.value() {
                Some(value) => Annotation::Value(value.to_string().into()),
                None => {
                    let predicate = |&key: &NodeId| {
                        let name = &schema.node(key).name;
                        let value = point.child(key).unwrap().value().unwrap();
                        format!("[{name}='{}']", value.to_string().replace('\'', "''"))
                    };
                    let keys = schema.node(point.node).keys();
                    Annotation::Key(keys.iter().map(predicate).collect::<String>().into())
                }
            };
            data.annotations.push(annotation);
        }
        data.annotations.push(Annotation::Insert(place.into()));
    }
}
