//! A datastore with an operation or notification in it (RFC 7950 §6.4.1): the accessible tree of an XPath expression in
//! the input or output of an operation, or in a notification.

use std::cmp::Ordering;
use std::fmt;
use std::ops::ControlFlow;

use super::instances::{Place, TreeInstances};
use crate::error::DataError;
use crate::instances::{Indexed, Instances, Side, Visit};
use crate::path::InstancePath;
use crate::schema::{NodeId, NodeKind, Schema};
use crate::value::Value;

/// Data, overlaid with a tree whose top-level nodes are the `input` or `output` of an operation, or a notification, at
/// one node of the data: the root, or the parent of the action or notification.
pub struct WithOperation<'a, T: Instances> {
    data: &'a T,
    place: T::Inner,
    operation: &'a TreeInstances<'a>,
}

/// A node of the data, or of the operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DataOrOperation<P> {
    /// A node of the data.
    Data(P),
    /// A node of the operation or notification.
    Operation(Place),
    /// An operation or notification that is not given, and its parent.
    Absent(P, NodeId),
}

impl<T: Instances> fmt::Debug for WithOperation<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithOperation")
            .field("place", &self.place)
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}

impl<'a, T: Instances> WithOperation<'a, T> {
    /// Places an operation or notification below this node of the data.
    pub fn new(data: &'a T, place: T::Inner, operation: &'a TreeInstances<'a>) -> Self {
        Self {
            data,
            place,
            operation,
        }
    }

    /// The input, output or notification itself.
    pub fn operation(&self, node: NodeId) -> DataOrOperation<T::Inner> {
        let root = self.operation.root();
        DataOrOperation::Operation(self.operation.container(&root, node))
    }

    fn is_of_operation(&self, node: NodeId) -> bool {
        let mut above = Some(node);
        while let Some(id) = above {
            let node = self.data.schema().node(id);
            if is_operation(&node.kind) {
                return true;
            }
            above = node.parent;
        }
        false
    }
}

fn is_operation(kind: &NodeKind) -> bool {
    matches!(
        kind,
        NodeKind::Input | NodeKind::Output | NodeKind::Notification
    )
}

/// Adapts a fallible visitor to a tree whose reads cannot fail.
fn infallible<V, E>(
    visit: &mut dyn FnMut(V) -> Visit<E>,
    read: impl FnOnce(&mut dyn FnMut(V) -> Visit<DataError>) -> Result<(), DataError>,
) -> Result<(), E>
where
    E: From<DataError>,
{
    let mut failed = None;
    read(&mut |item| {
        Ok(visit(item).unwrap_or_else(|error| {
            failed = Some(error);
            ControlFlow::Break(())
        }))
    })?;
    failed.map_or(Ok(()), Err)
}

impl<T: Instances> Instances for WithOperation<'_, T> {
    type Inner = DataOrOperation<T::Inner>;
    type Error = T::Error;

    fn schema(&self) -> &Schema {
        self.data.schema()
    }

    fn root(&self) -> Self::Inner {
        DataOrOperation::Data(self.data.root())
    }

    fn node(&self, inner: &Self::Inner) -> Option<NodeId> {
        match inner {
            DataOrOperation::Data(place) => self.data.node(place),
            DataOrOperation::Operation(place) => self.operation.node(place),
            DataOrOperation::Absent(_, node) => Some(*node),
        }
    }

    fn parent(&self, inner: &Self::Inner) -> Option<Self::Inner> {
        Some(match inner {
            DataOrOperation::Data(place) => DataOrOperation::Data(self.data.parent(place)?),
            DataOrOperation::Operation(place) => match self.operation.parent(place)? {
                root if root == self.operation.root() => DataOrOperation::Data(self.place.clone()),
                parent => DataOrOperation::Operation(parent),
            },
            DataOrOperation::Absent(place, _) => DataOrOperation::Data(place.clone()),
        })
    }

    fn path(&self, inner: &Self::Inner) -> Result<InstancePath, T::Error> {
        match inner {
            DataOrOperation::Data(place) => self.data.path(place),
            DataOrOperation::Operation(place) => {
                let mut path = self.data.path(&self.place)?;
                path.steps.extend(self.operation.path(place)?.steps);
                Ok(path)
            }
            DataOrOperation::Absent(place, _) => self.data.path(place),
        }
    }

    fn is_stored(&self, inner: &Self::Inner) -> Result<bool, T::Error> {
        match inner {
            DataOrOperation::Data(place) => self.data.is_stored(place),
            DataOrOperation::Operation(place) => Ok(self.operation.is_stored(place)?),
            DataOrOperation::Absent(..) => Ok(false),
        }
    }

    fn container(&self, parent: &Self::Inner, node: NodeId) -> Self::Inner {
        let kind = &self.data.schema().node(node).kind;
        match parent {
            DataOrOperation::Data(place) if is_operation(kind) => {
                if *place == self.place {
                    self.operation(node)
                } else {
                    DataOrOperation::Absent(place.clone(), node)
                }
            }
            DataOrOperation::Data(place) => DataOrOperation::Data(self.data.container(place, node)),
            DataOrOperation::Operation(place) => {
                DataOrOperation::Operation(self.operation.container(place, node))
            }
            DataOrOperation::Absent(place, _) => DataOrOperation::Absent(place.clone(), node),
        }
    }

    fn leaf(&self, parent: &Self::Inner, node: NodeId) -> Result<Option<Value>, T::Error> {
        match parent {
            DataOrOperation::Data(place) => self.data.leaf(place, node),
            DataOrOperation::Operation(place) => Ok(self.operation.leaf(place, node)?),
            DataOrOperation::Absent(..) => Ok(None),
        }
    }

    fn entries(
        &self,
        parent: &Self::Inner,
        list: NodeId,
        visit: &mut dyn FnMut(Self::Inner) -> Visit<T::Error>,
    ) -> Result<(), T::Error> {
        match parent {
            DataOrOperation::Data(place) => {
                let mut entry = |entry| visit(DataOrOperation::Data(entry));
                self.data.entries(place, list, &mut entry)
            }
            DataOrOperation::Operation(place) => {
                let mut entry = |entry| visit(DataOrOperation::Operation(entry));
                infallible(&mut entry, |entry| {
                    self.operation.entries(place, list, entry)
                })
            }
            DataOrOperation::Absent(..) => Ok(()),
        }
    }

    fn entry(
        &self,
        parent: &Self::Inner,
        list: NodeId,
        keys: &[Value],
    ) -> Result<Option<Self::Inner>, T::Error> {
        Ok(match parent {
            DataOrOperation::Data(place) => {
                let entry = self.data.entry(place, list, keys)?;
                entry.map(DataOrOperation::Data)
            }
            DataOrOperation::Operation(place) => {
                let entry = self.operation.entry(place, list, keys)?;
                entry.map(DataOrOperation::Operation)
            }
            DataOrOperation::Absent(..) => None,
        })
    }

    fn values(
        &self,
        parent: &Self::Inner,
        leaf_list: NodeId,
        visit: &mut dyn FnMut(Value) -> Visit<T::Error>,
    ) -> Result<(), T::Error> {
        match parent {
            DataOrOperation::Data(place) => self.data.values(place, leaf_list, visit),
            DataOrOperation::Operation(place) => infallible(visit, |value| {
                self.operation.values(place, leaf_list, value)
            }),
            DataOrOperation::Absent(..) => Ok(()),
        }
    }

    fn has_value(
        &self,
        parent: &Self::Inner,
        leaf_list: NodeId,
        value: &Value,
    ) -> Result<bool, T::Error> {
        match parent {
            DataOrOperation::Data(place) => self.data.has_value(place, leaf_list, value),
            DataOrOperation::Operation(place) => {
                Ok(self.operation.has_value(place, leaf_list, value)?)
            }
            DataOrOperation::Absent(..) => Ok(false),
        }
    }

    fn count(&self, parent: &Self::Inner, node: NodeId) -> Result<u64, T::Error> {
        match parent {
            DataOrOperation::Data(place) => self.data.count(place, node),
            DataOrOperation::Operation(place) => Ok(self.operation.count(place, node)?),
            DataOrOperation::Absent(..) => Ok(0),
        }
    }

    fn adjacent_entries(
        &self,
        entry: &Self::Inner,
        side: Side,
        visit: &mut dyn FnMut(Self::Inner) -> Visit<T::Error>,
    ) -> Result<Indexed, T::Error> {
        match entry {
            DataOrOperation::Data(place) => {
                let mut entry = |entry| visit(DataOrOperation::Data(entry));
                self.data.adjacent_entries(place, side, &mut entry)
            }
            DataOrOperation::Operation(place) => {
                let mut indexed = Indexed::No;
                let mut entry = |entry| visit(DataOrOperation::Operation(entry));
                infallible(&mut entry, |entry| {
                    indexed = self.operation.adjacent_entries(place, side, entry)?;
                    Ok(())
                })?;
                Ok(indexed)
            }
            DataOrOperation::Absent(..) => Ok(Indexed::No),
        }
    }

    fn compare_entries(&self, left: &Self::Inner, right: &Self::Inner) -> Option<Ordering> {
        match (left, right) {
            (DataOrOperation::Data(left), DataOrOperation::Data(right)) => {
                self.data.compare_entries(left, right)
            }
            (DataOrOperation::Operation(left), DataOrOperation::Operation(right)) => {
                self.operation.compare_entries(left, right)
            }
            _ => None,
        }
    }

    fn find(
        &self,
        within: &Self::Inner,
        node: NodeId,
        value: &Value,
        visit: &mut dyn FnMut(Self::Inner) -> Visit<T::Error>,
    ) -> Result<Indexed, T::Error> {
        match within {
            DataOrOperation::Data(place) if !self.is_of_operation(node) => {
                let mut found = |found| visit(DataOrOperation::Data(found));
                self.data.find(place, node, value, &mut found)
            }
            _ => Ok(Indexed::No),
        }
    }
}
