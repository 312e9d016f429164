//! Filters on the naive tree: RFC 6241 §6 by the letter, and the nodes that an XPath expression selects.

use std::collections::HashSet;

use espalier_store::{Content as ContentOf, Selection};
use espalier_yang::data::{Content, DataNode, DataTree, TreeInstances};
use espalier_yang::xpath::Expression;
use espalier_yang::xpath::evaluate::{Evaluator, Item, Limits};
use espalier_yang::{InstancePath, Instances, Keys, NodeId, Schema, Value};

use crate::reference::has_content;

/// An element of a subtree filter.
#[derive(Clone, Debug)]
pub struct Element {
    /// The schema node; `None` for an unknown name.
    pub node: Option<NodeId>,
    pub name: String,
    pub has_namespace: bool,
    /// An attribute that no data node has.
    pub has_attribute: bool,
    pub kind: ElementKind,
}

#[derive(Clone, Debug)]
pub enum ElementKind {
    Selection,
    Match(Value),
    Containment(Vec<Element>),
}

impl Element {
    fn is_match(&self) -> bool {
        matches!(self.kind, ElementKind::Match(_))
    }

    fn names(&self, data: &DataNode) -> bool {
        self.node == Some(data.node) && !self.has_attribute
    }

    /// Whether it is a content match node that holds among these siblings.
    fn holds(&self, siblings: &[DataNode]) -> bool {
        let ElementKind::Match(value) = &self.kind else {
            return false;
        };
        let mut siblings = siblings.iter();
        siblings.any(|data| self.names(data) && data.value() == Some(value))
    }
}

/// What is wanted of some siblings.
enum Wanted<'a> {
    Elements(Vec<&'a Element>),
    Paths(&'a HashSet<InstancePath>),
}

/// The nodes of `tree`, as they are reported, that a subtree filter selects.
pub fn select_elements(
    schema: &Schema,
    tree: &DataTree,
    filter: &[Element],
    selection: &Selection,
) -> DataTree {
    let wanted = Wanted::Elements(filter.iter().collect());
    let picker = Picker { schema, selection };
    let nodes = picker.children(&tree.nodes, &InstancePath::root(), &wanted, None);
    DataTree { nodes }
}

/// The paths of the nodes that an expression selects of `visible`, all that is set.
pub fn selected_paths(
    schema: &Schema,
    visible: &DataTree,
    expression: &Expression,
) -> HashSet<InstancePath> {
    let data = TreeInstances::new(schema, visible);
    let evaluator = Evaluator::new(&data, Limits::default());
    let items = evaluator
        .select(expression, &Item::Inner(data.root()))
        .unwrap();
    let path = |item: &Item<TreeInstances<'_>>| match item {
        Item::Inner(place) => data.path(place).unwrap(),
        Item::Leaf(leaf) | Item::Text(leaf) => {
            let keys = match schema.node(leaf.node).is_leaf_list() {
                true => Keys::Values(vec![leaf.value.clone()]),
                false => Keys::None,
            };
            data.path(&leaf.holder).unwrap().child(leaf.node, keys)
        }
    };
    items.iter().map(path).collect()
}

/// The nodes of `tree`, as they are reported, that have these paths.
pub fn select_paths(
    schema: &Schema,
    tree: &DataTree,
    paths: &HashSet<InstancePath>,
    selection: &Selection,
) -> DataTree {
    let picker = Picker { schema, selection };
    let root = InstancePath::root();
    let level = paths.contains(&root).then_some(0);
    let nodes = picker.children(&tree.nodes, &root, &Wanted::Paths(paths), level);
    DataTree { nodes }
}

struct Picker<'a> {
    schema: &'a Schema,
    selection: &'a Selection,
}

impl Picker<'_> {
    /// The selected siblings; `level` is that of their parent below a selected node, if there is one.
    fn children(
        &self,
        nodes: &[DataNode],
        at: &InstancePath,
        wanted: &Wanted<'_>,
        level: Option<u32>,
    ) -> Vec<DataNode> {
        let mut picked = Vec::new();
        let mut positions: Vec<(NodeId, u64)> = Vec::new();
        for data in nodes {
            let keys = match data.instance(self.schema) {
                Keys::None if self.schema.node(data.node).is_list() => {
                    let before = positions.iter().filter(|(node, _)| *node == data.node);
                    let position = before.count() as u64 + 1;
                    positions.push((data.node, position));
                    Keys::Position(position)
                }
                keys => keys,
            };
            let path = at.child(data.node, keys);
            picked.extend(self.node(data, &path, wanted, level));
        }
        picked
    }

    fn node(
        &self,
        data: &DataNode,
        path: &InstancePath,
        wanted: &Wanted<'_>,
        parent_level: Option<u32>,
    ) -> Option<DataNode> {
        let (is_selected, below) = self.wanted(data, path, wanted);
        let inherited = parent_level.map(|level| level + 1);
        let level = if is_selected { Some(1) } else { inherited };
        let level = level.filter(|level| self.selection.depth.is_none_or(|depth| *level <= depth));
        let node = self.schema.node(data.node);
        let is_content = match self.selection.content {
            ContentOf::All => true,
            ContentOf::Config => node.is_config,
            ContentOf::NonConfig => !node.is_config,
        };
        let is_own = level.is_some() && is_content;
        let Content::Inner(children) = &data.content else {
            return is_own.then(|| data.clone());
        };
        let mut inside = self.children(children, path, &below, level);
        // A container without presence exists by its content, which may be beyond the depth.
        let is_cut = self.selection.depth.is_some() && level == self.selection.depth;
        let is_shown = !node.is_np_container() || is_cut && has_content(self.schema, data);
        if !(is_own && is_shown) && inside.is_empty() {
            return None;
        }
        for &key in node.keys() {
            if inside.iter().all(|child| child.node != key) {
                inside.extend(data.child(key).cloned());
            }
        }
        let mut copy = data.clone();
        copy.content = Content::Inner(inside);
        Some(copy)
    }

    /// Whether a node is selected with everything below it, and what is wanted below it.
    fn wanted<'w>(
        &self,
        data: &DataNode,
        path: &InstancePath,
        wanted: &Wanted<'w>,
    ) -> (bool, Wanted<'w>) {
        let elements = match wanted {
            Wanted::Paths(paths) => return (paths.contains(path), Wanted::Paths(paths)),
            Wanted::Elements(elements) => elements,
        };
        let (mut is_selected, mut below) = (false, Vec::new());
        for &element in elements.iter().filter(|element| element.names(data)) {
            match &element.kind {
                ElementKind::Selection => is_selected = true,
                ElementKind::Match(value) => is_selected |= data.value() == Some(value),
                ElementKind::Containment(children) => {
                    let Content::Inner(inside) = &data.content else {
                        continue;
                    };
                    let mut conditions = children.iter().filter(|child| child.is_match());
                    if conditions.all(|condition| condition.holds(inside)) {
                        match children.iter().all(Element::is_match) {
                            true => is_selected = true,
                            false => below.extend(children),
                        }
                    }
                }
            }
        }
        (is_selected, Wanted::Elements(below))
    }
}
