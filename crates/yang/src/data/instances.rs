//! A tree in memory as [`Instances`].

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::tree::{Content, DataNode, DataTree};
use crate::error::DataError;
use crate::instances::{Indexed, Instances, Side, Visit};
use crate::path::{InstancePath, Keys, Step};
use crate::schema::{NodeId, NodeKind, Schema};
use crate::value::Value;

/// A [`DataTree`] indexed for [`Instances`]. Lists and leaf-lists that are `ordered-by system` are in the order of
/// their keys, whatever the order in the tree. Duplicate nodes count once when they are looked up by key.
pub struct TreeInstances<'a> {
    schema: &'a Schema,
    inner: Vec<InnerNode<'a>>,
    /// The list entries by key: with one key, and with several.
    by_key: FxHashMap<(u32, NodeId, &'a Value), u32>,
    by_keys: FxHashMap<(u32, NodeId, Vec<&'a Value>), u32>,
    indexes: FxHashMap<NodeId, FxHashMap<&'a Value, Vec<u32>>>,
}

impl fmt::Debug for TreeInstances<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeInstances")
            .field("places", &self.inner.len())
            .finish_non_exhaustive()
    }
}

/// An interior node of the tree.
struct InnerNode<'a> {
    node: Option<NodeId>,
    parent: u32,
    /// The position among the interior nodes of its parent.
    index: u32,
    /// Whether it exists by itself or contains data.
    is_stored: bool,
    /// By schema node; the values of a leaf-list in order.
    values: Vec<(NodeId, &'a Value)>,
    /// By schema node; the entries of a list in order.
    inner_children: Vec<(NodeId, u32)>,
}

/// A handle of an interior node, or of an empty one that is not in the tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place(PlaceKind);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum PlaceKind {
    Tree(u32),
    Empty(Arc<(PlaceKind, NodeId)>),
}

/// The value of `anydata` and `anyxml`.
const ANY: &Value = &Value::Empty;

impl<'a> TreeInstances<'a> {
    /// Indexes a tree of the whole datastore, or one whose top-level nodes are an operation's `input` or `output`, or a
    /// notification.
    pub fn new(schema: &'a Schema, tree: &'a DataTree) -> Self {
        let mut instances = Self {
            schema,
            inner: Vec::new(),
            by_key: FxHashMap::default(),
            by_keys: FxHashMap::default(),
            indexes: FxHashMap::default(),
        };
        instances.add(None, 0, &tree.nodes);
        instances
    }

    /// Adds value indexes on these leaves and leaf-lists.
    #[must_use]
    pub fn with_indexes(mut self, nodes: &[NodeId]) -> Self {
        for &node in nodes {
            self.indexes.entry(node).or_default();
        }
        let mut open = vec![0];
        while let Some(place) = open.pop() {
            let inner: &InnerNode<'a> = &self.inner[place as usize];
            for (node, value) in &inner.values {
                if let Some(index) = self.indexes.get_mut(node) {
                    index.entry(value).or_default().push(place);
                }
            }
            open.extend(inner.inner_children.iter().rev().map(|(_, below)| *below));
        }
        self
    }

    fn add(&mut self, node: Option<NodeId>, parent: u32, children: &'a [DataNode]) -> u32 {
        let place = u32::try_from(self.inner.len()).unwrap_or(u32::MAX);
        self.inner.push(InnerNode {
            node,
            parent,
            index: 0,
            is_stored: node.is_none_or(|node| !self.schema.node(node).is_np_container()),
            values: Vec::new(),
            inner_children: Vec::new(),
        });
        let mut values = Vec::new();
        let mut inner_children: Vec<(NodeId, u32)> = Vec::new();
        for child in children {
            match &child.content {
                Content::Value(value) => values.push((child.node, value)),
                Content::Any(_) => values.push((child.node, ANY)),
                Content::Bare => {}
                Content::Inner(below) => {
                    let below = self.add(Some(child.node), place, below);
                    inner_children.push((child.node, below));
                }
            }
        }
        values.sort_by(|(left, mine), (right, theirs)| {
            let by_value = || match self.schema.node(*left).is_positional() {
                true => std::cmp::Ordering::Equal,
                false => mine.compare(theirs),
            };
            left.cmp(right).then_with(by_value)
        });
        inner_children.sort_by(|(left, mine), (right, theirs)| {
            left.cmp(right)
                .then_with(|| self.compare_entries(*left, *mine, *theirs))
        });
        for &(node, entry) in &inner_children {
            let keys = self.schema.node(node).keys();
            let keyed = keys.iter().map(|&key| self.value(entry, key));
            match keyed.collect::<Option<Vec<&'a Value>>>().as_deref() {
                None | Some([]) => {}
                Some([key]) => {
                    self.by_key.entry((place, node, key)).or_insert(entry);
                }
                Some(keys) => {
                    let at = (place, node, keys.to_vec());
                    self.by_keys.entry(at).or_insert(entry);
                }
            }
        }
        for (index, (_, entry)) in (0..).zip(&inner_children) {
            self.inner[*entry as usize].index = index;
        }
        let holds_more = inner_children
            .iter()
            .any(|(_, below)| self.inner[*below as usize].is_stored);
        let inner = &mut self.inner[place as usize];
        inner.is_stored |= holds_more || !values.is_empty();
        inner.values = values;
        inner.inner_children = inner_children;
        place
    }

    fn compare_entries(&self, list: NodeId, left: u32, right: u32) -> std::cmp::Ordering {
        let node = self.schema.node(list);
        if node.is_positional() {
            return std::cmp::Ordering::Equal;
        }
        let orders =
            node.keys().iter().map(
                |&key| match (self.value(left, key), self.value(right, key)) {
                    (Some(left), Some(right)) => left.compare(right),
                    (left, right) => left.is_some().cmp(&right.is_some()),
                },
            );
        orders.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
    }

    fn value(&self, place: u32, node: NodeId) -> Option<&'a Value> {
        let values = &self.inner[place as usize].values;
        let index = values.partition_point(|(other, _)| *other < node);
        let (_, value) = values.get(index).filter(|(other, _)| *other == node)?;
        Some(value)
    }

    fn values_of(&self, place: &Place, node: NodeId) -> &[(NodeId, &'a Value)] {
        let PlaceKind::Tree(place) = place.0 else {
            return &[];
        };
        let values = &self.inner[place as usize].values;
        let start = values.partition_point(|(other, _)| *other < node);
        let end = start + values[start..].partition_point(|(other, _)| *other == node);
        &values[start..end]
    }

    fn inner_children_of(&self, place: &Place, node: NodeId) -> &[(NodeId, u32)] {
        let PlaceKind::Tree(place) = place.0 else {
            return &[];
        };
        let inner_children = &self.inner[place as usize].inner_children;
        let start = inner_children.partition_point(|(other, _)| *other < node);
        let end = start + inner_children[start..].partition_point(|(other, _)| *other == node);
        &inner_children[start..end]
    }

    fn is_within(&self, mut place: u32, within: u32) -> bool {
        while place > within {
            place = self.inner[place as usize].parent;
        }
        place == within
    }

    /// The node in a path: for an input or output, its operation.
    fn shown(&self, node: NodeId) -> NodeId {
        let schema_node = self.schema.node(node);
        match (&schema_node.kind, schema_node.parent) {
            (NodeKind::Input | NodeKind::Output, Some(operation)) => operation,
            _ => node,
        }
    }

    fn step(&self, place: u32, node: NodeId) -> Step {
        let schema_node = self.schema.node(node);
        let node = self.shown(node);
        let inner = &self.inner[place as usize];
        let keys = match &schema_node.kind {
            NodeKind::List(list) if list.keys.is_empty() => {
                let parent = Place(PlaceKind::Tree(inner.parent));
                let entries = self.inner_children_of(&parent, node).iter();
                let position = entries.take_while(|(_, entry)| *entry != place).count();
                Keys::Position(position as u64 + 1)
            }
            NodeKind::List(list) => {
                let keys = list.keys.iter().filter_map(|&key| self.value(place, key));
                Keys::Values(keys.cloned().collect())
            }
            _ => Keys::None,
        };
        Step { node, keys }
    }
}

impl Instances for TreeInstances<'_> {
    type Inner = Place;
    type Error = DataError;

    fn schema(&self) -> &Schema {
        self.schema
    }

    fn root(&self) -> Place {
        Place(PlaceKind::Tree(0))
    }

    fn node(&self, place: &Place) -> Option<NodeId> {
        match &place.0 {
            PlaceKind::Tree(place) => self.inner[*place as usize].node,
            PlaceKind::Empty(empty) => Some(empty.1),
        }
    }

    fn parent(&self, place: &Place) -> Option<Place> {
        match &place.0 {
            PlaceKind::Tree(0) => None,
            PlaceKind::Tree(place) => {
                Some(Place(PlaceKind::Tree(self.inner[*place as usize].parent)))
            }
            PlaceKind::Empty(empty) => Some(Place(empty.0.clone())),
        }
    }

    fn path(&self, place: &Place) -> Result<InstancePath, DataError> {
        let mut steps = Vec::new();
        let mut at = &place.0;
        while let PlaceKind::Empty(empty) = at {
            steps.push(Step {
                node: self.shown(empty.1),
                keys: Keys::None,
            });
            at = &empty.0;
        }
        if let PlaceKind::Tree(place) = at {
            let mut place = *place;
            while let Some(node) = self.inner[place as usize].node {
                steps.push(self.step(place, node));
                place = self.inner[place as usize].parent;
            }
        }
        steps.reverse();
        Ok(InstancePath { steps })
    }

    fn is_stored(&self, place: &Place) -> Result<bool, DataError> {
        Ok(match &place.0 {
            PlaceKind::Tree(place) => self.inner[*place as usize].is_stored,
            PlaceKind::Empty(_) => false,
        })
    }

    fn container(&self, parent: &Place, node: NodeId) -> Place {
        match self.inner_children_of(parent, node).first() {
            Some((_, place)) => Place(PlaceKind::Tree(*place)),
            None => Place(PlaceKind::Empty(Arc::new((parent.0.clone(), node)))),
        }
    }

    fn leaf(&self, parent: &Place, node: NodeId) -> Result<Option<Value>, DataError> {
        Ok(match parent.0 {
            PlaceKind::Tree(place) => self.value(place, node).cloned(),
            PlaceKind::Empty(_) => None,
        })
    }

    fn entries(
        &self,
        parent: &Place,
        list: NodeId,
        visit: &mut dyn FnMut(Place) -> Visit<DataError>,
    ) -> Result<(), DataError> {
        for (_, entry) in self.inner_children_of(parent, list) {
            if visit(Place(PlaceKind::Tree(*entry)))?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn entry(
        &self,
        parent: &Place,
        list: NodeId,
        keys: &[Value],
    ) -> Result<Option<Place>, DataError> {
        let PlaceKind::Tree(parent) = parent.0 else {
            return Ok(None);
        };
        let entry = match keys {
            [key] => self.by_key.get(&(parent, list, key)),
            keys => self.by_keys.get(&(parent, list, keys.iter().collect())),
        };
        Ok(entry.map(|entry| Place(PlaceKind::Tree(*entry))))
    }

    fn values(
        &self,
        parent: &Place,
        leaf_list: NodeId,
        visit: &mut dyn FnMut(Value) -> Visit<DataError>,
    ) -> Result<(), DataError> {
        for (_, value) in self.values_of(parent, leaf_list) {
            if visit((*value).clone())?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn has_value(
        &self,
        parent: &Place,
        leaf_list: NodeId,
        value: &Value,
    ) -> Result<bool, DataError> {
        let values = self.values_of(parent, leaf_list);
        if self.schema.node(leaf_list).is_positional() {
            return Ok(values.iter().any(|(_, other)| *other == value));
        }
        let found = values.binary_search_by(|(_, other)| other.compare(value));
        Ok(found.is_ok_and(|index| values[index].1 == value))
    }

    fn count(&self, parent: &Place, node: NodeId) -> Result<u64, DataError> {
        let values = self.values_of(parent, node).len();
        Ok((values + self.inner_children_of(parent, node).len()) as u64)
    }

    fn adjacent_entries(
        &self,
        entry: &Place,
        side: Side,
        visit: &mut dyn FnMut(Place) -> Visit<DataError>,
    ) -> Result<Indexed, DataError> {
        let PlaceKind::Tree(own) = entry.0 else {
            return Ok(Indexed::No);
        };
        let own = &self.inner[own as usize];
        let siblings = &self.inner[own.parent as usize].inner_children;
        let mut index = own.index as usize;
        loop {
            let next = match side {
                Side::Before => index.checked_sub(1),
                Side::After => Some(index + 1),
            };
            let sibling = next.and_then(|next| siblings.get(next));
            let Some((_, place)) = sibling.filter(|(node, _)| Some(*node) == own.node) else {
                return Ok(Indexed::Yes);
            };
            if visit(Place(PlaceKind::Tree(*place)))?.is_break() {
                return Ok(Indexed::Yes);
            }
            index = self.inner[*place as usize].index as usize;
        }
    }

    fn compare_entries(&self, left: &Place, right: &Place) -> Option<std::cmp::Ordering> {
        let (PlaceKind::Tree(left), PlaceKind::Tree(right)) = (&left.0, &right.0) else {
            return None;
        };
        let index = |place: u32| self.inner[place as usize].index;
        Some(index(*left).cmp(&index(*right)))
    }

    fn find(
        &self,
        within: &Place,
        node: NodeId,
        value: &Value,
        visit: &mut dyn FnMut(Place) -> Visit<DataError>,
    ) -> Result<Indexed, DataError> {
        let Some(index) = self.indexes.get(&node) else {
            return Ok(Indexed::No);
        };
        let (PlaceKind::Tree(within), Some(nodes_with_value)) = (&within.0, index.get(value))
        else {
            return Ok(Indexed::Yes);
        };
        for &place in nodes_with_value
            .iter()
            .filter(|place| self.is_within(**place, *within))
        {
            if let ControlFlow::Break(()) = visit(Place(PlaceKind::Tree(place)))? {
                break;
            }
        }
        Ok(Indexed::Yes)
    }
}
