//! The `child` axis: the instances of schema nodes in a parent.

use super::evaluator::{CONTINUE, STOP, Visitor};
use super::string_values::has_text;
use super::{Evaluator, Item, Leaf, Scope};
use crate::instances::{Instances, Visit};
use crate::schema::{ModuleId, Node, NodeId, NodeKind};
use crate::xpath::NodeTest;

impl<T: Instances> Evaluator<'_, T> {
    /// The children of a node that pass a test, in document order.
    pub(super) fn children(
        &self,
        of: &Item<T>,
        test: &NodeTest,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        match (of, test) {
            (Item::Inner(place), _) => {
                let mut instances = |id| self.instances(place, id, visit);
                self.child_nodes(self.data.node(place), test, &mut instances)
            }
            (Item::Leaf(leaf), NodeTest::Text) => self.text_of(leaf, visit),
            _ => Ok(CONTINUE),
        }
    }

    /// The text node of a leaf.
    pub(super) fn text_of(&self, leaf: &Leaf<T>, visit: &mut Visitor<'_, T>) -> Visit<T::Error> {
        if !has_text(&leaf.value) {
            return Ok(CONTINUE);
        }
        self.count_visit()?;
        visit(Item::Text(leaf.clone()))
    }

    /// The child schema nodes of a node that pass a test, in order. At the top level, operations and notifications too,
    /// because one of them may be given.
    pub(super) fn child_nodes(
        &self,
        parent: Option<NodeId>,
        test: &NodeTest,
        visit: &mut dyn FnMut(NodeId) -> Visit<T::Error>,
    ) -> Visit<T::Error> {
        let schema = self.schema();
        let module = match test {
            NodeTest::Name(Some(module), name) => {
                let module = schema.module_by_name(module);
                let child = module.and_then(|module| schema.child(parent, module, name));
                return child.map_or(Ok(CONTINUE), visit);
            }
            NodeTest::Name(None, name) => {
                for child in schema.named(parent, name) {
                    if visit(child)?.is_break() {
                        return Ok(STOP);
                    }
                }
                return Ok(CONTINUE);
            }
            NodeTest::AnyName | NodeTest::Node => None,
            NodeTest::AnyNameIn(module) => match schema.module_by_name(module) {
                Some(module) => Some(module),
                None => return Ok(CONTINUE),
            },
            NodeTest::Text | NodeTest::Comment | NodeTest::ProcessingInstruction(_) => {
                return Ok(CONTINUE);
            }
        };
        let may_match =
            |id: &&NodeId| module.is_none_or(|module: ModuleId| schema.node(**id).module == module);
        for &child in self.schema_children(parent).filter(may_match) {
            if visit(child)?.is_break() {
                return Ok(STOP);
            }
        }
        Ok(CONTINUE)
    }

    /// All child schema nodes of a node, in order.
    pub(super) fn schema_children(
        &self,
        parent: Option<NodeId>,
    ) -> impl DoubleEndedIterator<Item = &NodeId> {
        let schema = self.schema();
        let (below, operations, notifications): (&[NodeId], &[NodeId], &[NodeId]) = match parent {
            Some(parent) => (&schema.node(parent).children, &[], &[]),
            None => (schema.roots(), schema.operations(), schema.notifications()),
        };
        below.iter().chain(operations).chain(notifications)
    }

    /// The instances of one schema node in an existing parent, in document order.
    pub(super) fn instances(
        &self,
        place: &T::Inner,
        id: NodeId,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        let node = self.schema().node(id);
        if !self.is_in_scope(node) {
            return Ok(CONTINUE);
        }
        match &node.kind {
            NodeKind::Leaf(_) | NodeKind::AnyData | NodeKind::AnyXml => {
                self.count_visit()?;
                match self.leaf_in(place, id)? {
                    Some((value, is_default)) => visit(Item::Leaf(Leaf {
                        is_default,
                        ..Leaf::stored(place.clone(), id, value)
                    })),
                    None => Ok(CONTINUE),
                }
            }
            NodeKind::Container { .. } => {
                self.count_visit()?;
                let container = self.data.container(place, id);
                if self.is_container_in(place, &container, id)? {
                    visit(Item::Inner(container))
                } else {
                    Ok(CONTINUE)
                }
            }
            NodeKind::List(_) => {
                let mut flow = CONTINUE;
                self.data.entries(place, id, &mut |entry| {
                    self.count_visit()?;
                    flow = visit(Item::Inner(entry))?;
                    Ok(flow)
                })?;
                Ok(flow)
            }
            NodeKind::LeafList(_) => self.leaf_list_entries(place, node, visit),
            NodeKind::Rpc | NodeKind::Action => {
                for &side in &node.children {
                    if self.operation(place, side, visit)?.is_break() {
                        return Ok(STOP);
                    }
                }
                Ok(CONTINUE)
            }
            NodeKind::Input | NodeKind::Output | NodeKind::Notification => {
                self.operation(place, id, visit)
            }
        }
    }

    fn leaf_list_entries(
        &self,
        place: &T::Inner,
        node: &Node,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        let mut index = 0;
        self.values_in(place, node.id, &mut |value, is_default| {
            self.count_visit()?;
            let entry = Leaf {
                is_default,
                index: if node.is_config { 0 } else { index },
                ..Leaf::stored(place.clone(), node.id, value)
            };
            index += 1;
            visit(Item::Leaf(entry))
        })
    }

    /// The given input, output or notification, if it is an instance of this node.
    fn operation(
        &self,
        place: &T::Inner,
        side: NodeId,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        self.count_visit()?;
        let inner = self.data.container(place, side);
        if self.data.is_stored(&inner)? {
            visit(Item::Inner(inner))
        } else {
            Ok(CONTINUE)
        }
    }

    /// Returns whether instances of a schema node are in scope.
    pub(super) fn is_in_scope(&self, node: &Node) -> bool {
        self.scope != Scope::Config || node.is_config
    }

    /// Returns whether a node passes a test on an axis other than `attribute` and `namespace`.
    pub(super) fn passes(&self, item: &Item<T>, test: &NodeTest) -> bool {
        let id = match (item, test) {
            (Item::Text(_), _) => return matches!(test, NodeTest::Node | NodeTest::Text),
            (_, NodeTest::Node) => return true,
            (item, _) => item.node(self.data),
        };
        let Some(node) = id.map(|id| self.named_node(id)) else {
            return false;
        };
        let schema = self.schema();
        let is_in = |module: &str| *schema.module(node.module).name == *module;
        match test {
            NodeTest::Name(module, name) => {
                *node.name == **name && module.as_deref().is_none_or(is_in)
            }
            NodeTest::AnyName => true,
            NodeTest::AnyNameIn(module) => is_in(module),
            _ => false,
        }
    }

    /// The node whose name is used: the operation, for its input and output.
    pub(super) fn named_node(&self, id: NodeId) -> &Node {
        let schema = self.schema();
        let node = schema.node(id);
        match (&node.kind, node.parent) {
            (NodeKind::Input | NodeKind::Output, Some(operation)) => schema.node(operation),
            _ => node,
        }
    }
}
