//! The read interface to stored data nodes, used by XPath and validation.
//!
//! The store implements it on its key space, [`crate::data::DataTree`] in memory. It covers stored nodes only:
//! the caller adds default values and containers without presence, which are also part of the accessible
//! tree (RFC 7950 §6.4.1).
//! The key decision: interior nodes ([`Instances::Inner`]) have handles; leaves and leaf-list entries are
//! values of the interior node that contains them. So reading a leaf costs one read of its fragment, and no
//! tree is built in memory.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::hash::Hash;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::error::DataError;
use crate::path::InstancePath;
use crate::schema::{NodeId, Schema};
use crate::value::Value;

/// Whether an enumeration continues.
pub type Visit<E> = Result<ControlFlow<()>, E>;

/// Whether an index exists that answers the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexed {
    /// There is an index; the result is complete.
    Yes,
    /// There is no index; nothing was visited, the caller must enumerate.
    No,
}

/// A sum of integers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// The sum.
    pub total: i128,
    /// The sum of the absolute values.
    pub absolute: u128,
}

impl Sum {
    /// The sum of one integer; `None` if the value is no integer.
    pub fn of(value: &Value) -> Option<Self> {
        let total = match value {
            Value::Int32(number) => i128::from(*number),
            Value::Int64(number) => i128::from(*number),
            Value::Uint32(number) => i128::from(*number),
            Value::Uint64(number) => i128::from(*number),
            _ => return None,
        };
        let absolute = total.unsigned_abs();
        Some(Self { total, absolute })
    }
}

/// A direction among the siblings of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Side {
    /// Earlier siblings.
    Before,
    /// Later siblings.
    After,
}

impl Side {
    /// The opposite direction.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Before => Self::After,
            Self::After => Self::Before,
        }
    }
}

// A small trait, so that reading a leaf costs one fragment: docs/decisions/0006.
/// One state of a data tree. A visitor may call other methods during an enumeration.
pub trait Instances {
    /// A handle of an interior node: the root, a container, a list entry, or the input, output or notification
    /// of an operation. Two handles of one node are equal. Containers without presence have a handle if their
    /// parent has one.
    type Inner: Clone + Debug + Eq + Hash;

    /// The error of a failed read.
    type Error: From<DataError>;

    /// The schema of the data.
    fn schema(&self) -> &Schema;

    /// The root.
    fn root(&self) -> Self::Inner;

    /// The schema node; `None` for the root.
    fn node(&self, inner: &Self::Inner) -> Option<NodeId>;

    /// The parent; `None` for the root.
    fn parent(&self, inner: &Self::Inner) -> Option<Self::Inner>;

    /// The path of a node.
    fn path(&self, inner: &Self::Inner) -> Result<InstancePath, Self::Error>;

    /// Returns whether a node exists: a list entry or container with presence that is stored, or a container
    /// without presence that contains stored data.
    fn is_stored(&self, inner: &Self::Inner) -> Result<bool, Self::Error>;

    /// The container `node` in `parent`, stored or not.
    fn container(&self, parent: &Self::Inner, node: NodeId) -> Self::Inner;

    /// The stored value of a leaf ([`Value::Empty`] for `anydata` and `anyxml`).
    fn leaf(&self, parent: &Self::Inner, node: NodeId) -> Result<Option<Value>, Self::Error>;

    /// Visits the entries of a list, in order.
    fn entries(
        &self,
        parent: &Self::Inner,
        list: NodeId,
        visit: &mut dyn FnMut(Self::Inner) -> Visit<Self::Error>,
    ) -> Result<(), Self::Error>;

    /// The list entry with these key values (all of them, in the order of `key`), if stored.
    fn entry(
        &self,
        parent: &Self::Inner,
        list: NodeId,
        keys: &[Value],
    ) -> Result<Option<Self::Inner>, Self::Error>;

    /// Visits the values of a leaf-list, in order.
    fn values(
        &self,
        parent: &Self::Inner,
        leaf_list: NodeId,
        visit: &mut dyn FnMut(Value) -> Visit<Self::Error>,
    ) -> Result<(), Self::Error>;

    /// Returns whether a leaf-list contains a value.
    fn has_value(
        &self,
        parent: &Self::Inner,
        leaf_list: NodeId,
        value: &Value,
    ) -> Result<bool, Self::Error>;

    /// The number of entries of a list or leaf-list.
    fn count(&self, parent: &Self::Inner, node: NodeId) -> Result<u64, Self::Error>;

    /// Visits the nodes at or below `within` whose leaf (or leaf-list) `node` has `value`, in order, from an
    /// index. Stored values only, not defaults.
    fn find(
        &self,
        within: &Self::Inner,
        node: NodeId,
        value: &Value,
        visit: &mut dyn FnMut(Self::Inner) -> Visit<Self::Error>,
    ) -> Result<Indexed, Self::Error>;

    /// Visits the nodes whose leaf (or leaf-list) `node` has any value, from the same index; a node may be
    /// visited more than once.
    fn nodes_with_value(
        &self,
        _node: NodeId,
        _visit: &mut dyn FnMut(Self::Inner) -> Visit<Self::Error>,
    ) -> Result<Indexed, Self::Error> {
        Ok(Indexed::No)
    }

    /// Visits the list entries before or after an entry (existing or deleted), nearest first.
    fn adjacent_entries(
        &self,
        _entry: &Self::Inner,
        _side: Side,
        _visit: &mut dyn FnMut(Self::Inner) -> Visit<Self::Error>,
    ) -> Result<Indexed, Self::Error> {
        Ok(Indexed::No)
    }

    /// Whether a node that is not stored is in use in an existing parent, if data that these do not show decide it: the case
    /// of a choice may be that of a node that is not shown. `None` if these data decide it.
    fn is_in_use(&self, _parent: &Self::Inner, _node: NodeId) -> Option<Result<bool, Self::Error>> {
        None
    }

    /// Compares two entries of one list by document order; `None` if that needs a scan of all entries.
    fn compare_entries(&self, _left: &Self::Inner, _right: &Self::Inner) -> Option<Ordering> {
        None
    }

    /// The sum of an integer leaf over all entries of a list, if the store maintains it. The leaf must be a direct
    /// child of the entries and must have no default.
    fn sum(
        &self,
        _parent: &Self::Inner,
        _list: NodeId,
        _leaf: NodeId,
    ) -> Result<Option<Sum>, Self::Error> {
        Ok(None)
    }

    /// The least and the greatest value of a numeric leaf over all entries of a list, from an index; `Some(None)`
    /// if no entry has a value. The leaf must be a direct child of the entries and must have no default.
    #[allow(clippy::type_complexity)]
    fn extremes(
        &self,
        _parent: &Self::Inner,
        _list: NodeId,
        _leaf: NodeId,
    ) -> Result<Option<Option<(Value, Value)>>, Self::Error> {
        Ok(None)
    }

    /// Visits the list entries whose leaves of `unique` statement number `_unique` have these values, from an
    /// index. May visit additional entries, but misses none.
    fn find_entries(
        &self,
        _parent: &Self::Inner,
        _list: NodeId,
        _unique: usize,
        _values: &[Value],
        _visit: &mut dyn FnMut(Self::Inner) -> Visit<Self::Error>,
    ) -> Result<Indexed, Self::Error> {
        Ok(Indexed::No)
    }
}
