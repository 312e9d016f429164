//! What XPath and validation read: the data nodes that are stored, one small question at a time.
//!
//! The store answers from its key space, a [`crate::data::DataTree`] from memory. Only what is
//! stored is told here: default values and containers without presence, which are in the
//! accessible tree too (RFC 7950 §6.4.1), are added by who asks.
//!
//! The key decision: nodes that hold others ([`Instances::Inner`]) have handles, leaves and
//! leaf-list entries are told as values of the node that holds them. So reading a leaf costs one
//! read of the fragment it is in, and no tree is built in memory.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::hash::Hash;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::error::DataError;
use crate::path::InstancePath;
use crate::schema::{NodeId, Schema};
use crate::value::Value;

/// Whether an enumeration goes on.
pub type Visit<E> = Result<ControlFlow<()>, E>;

/// Whether there was an index to answer from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexed {
    /// There was: everything was told.
    Yes,
    /// There was none: nothing was told, enumerate instead.
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
    /// What one integer adds; none for what is no integer.
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

/// Which siblings of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Side {
    /// Those that come earlier.
    Before,
    /// Those that come later.
    After,
}

impl Side {
    /// The other side.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Before => Self::After,
            Self::After => Self::Before,
        }
    }
}

/// One state of a data tree. While a visitor is told something, it may ask further questions.
pub trait Instances {
    /// A place that holds others: the root, a container, a list entry (for operations and
    /// notifications, the input, output or notification). Two handles of one place are equal.
    /// Containers without presence have a handle wherever their parent has one.
    type Inner: Clone + Debug + Eq + Hash;

    /// Why reading failed.
    type Error: From<DataError>;

    /// The schema of the data.
    fn schema(&self) -> &Schema;

    /// The root.
    fn root(&self) -> Self::Inner;

    /// The schema node of a place; none for the root.
    fn node(&self, inner: &Self::Inner) -> Option<NodeId>;

    /// The place around a place; none for the root.
    fn parent(&self, inner: &Self::Inner) -> Option<Self::Inner>;

    /// The path of a place.
    fn path(&self, inner: &Self::Inner) -> Result<InstancePath, Self::Error>;

    /// Whether a place holds anything or exists by itself: a list entry or container with presence
    /// that is there, a container without presence with something stored in it.
    fn is_stored(&self, inner: &Self::Inner) -> Result<bool, Self::Error>;

    /// The place of a container in a place, whether it is stored or not.
    fn container(&self, parent: &Self::Inner, node: NodeId) -> Self::Inner;

    /// The stored value of a leaf in a place ([`Value::Empty`] for `anydata` and `anyxml`).
    fn leaf(&self, parent: &Self::Inner, node: NodeId) -> Result<Option<Value>, Self::Error>;

    /// The entries of a list in a place, in order.
    fn entries(
        &self,
        parent: &Self::Inner,
        list: NodeId,
        visit: &mut dyn FnMut(Self::Inner) -> Visit<Self::Error>,
    ) -> Result<(), Self::Error>;

    /// The entry of a list with these key values (all of them, in the order of `key`), if stored.
    fn entry(
        &self,
        parent: &Self::Inner,
        list: NodeId,
        keys: &[Value],
    ) -> Result<Option<Self::Inner>, Self::Error>;

    /// The values of a leaf-list in a place, in order.
    fn values(
        &self,
        parent: &Self::Inner,
        leaf_list: NodeId,
        visit: &mut dyn FnMut(Value) -> Visit<Self::Error>,
    ) -> Result<(), Self::Error>;

    /// Whether a leaf-list in a place has a value.
    fn has_value(
        &self,
        parent: &Self::Inner,
        leaf_list: NodeId,
        value: &Value,
    ) -> Result<bool, Self::Error>;

    /// How many entries a list or leaf-list in a place has.
    fn count(&self, parent: &Self::Inner, node: NodeId) -> Result<u64, Self::Error>;

    /// The places at or below `within` whose leaf (or leaf-list) `node` holds `value`, in order,
    /// from an index. Stored values only, not defaults.
    fn find(
        &self,
        within: &Self::Inner,
        node: NodeId,
        value: &Value,
        visit: &mut dyn FnMut(Self::Inner) -> Visit<Self::Error>,
    ) -> Result<Indexed, Self::Error>;

    /// The places whose leaf (or leaf-list) `node` holds any value, from the same index; a place may come
    /// more than once.
    fn holders(
        &self,
        _node: NodeId,
        _visit: &mut dyn FnMut(Self::Inner) -> Visit<Self::Error>,
    ) -> Result<Indexed, Self::Error> {
        Ok(Indexed::No)
    }

    /// The entries of a list on one side of a place that is an entry or was one, nearest first.
    fn beside(
        &self,
        _entry: &Self::Inner,
        _side: Side,
        _visit: &mut dyn FnMut(Self::Inner) -> Visit<Self::Error>,
    ) -> Result<Indexed, Self::Error> {
        Ok(Indexed::No)
    }

    /// The order of two entries of one list in a place; none where it is not known without a look at
    /// all entries.
    fn compare_entries(&self, _left: &Self::Inner, _right: &Self::Inner) -> Option<Ordering> {
        None
    }

    /// The sum of an integer leaf of all entries of a list in a place, if it is kept. Only a leaf without
    /// default, directly in the entries.
    fn sum(
        &self,
        _parent: &Self::Inner,
        _list: NodeId,
        _leaf: NodeId,
    ) -> Result<Option<Sum>, Self::Error> {
        Ok(None)
    }

    /// The least and the greatest value of a number leaf of all entries of a list in a place, from an index;
    /// an inner none where no entry has a value. Only a leaf without default, directly in the entries.
    #[allow(clippy::type_complexity)]
    fn extremes(
        &self,
        _parent: &Self::Inner,
        _list: NodeId,
        _leaf: NodeId,
    ) -> Result<Option<Option<(Value, Value)>>, Self::Error> {
        Ok(None)
    }

    /// The entries of a list in a place whose leaves of the `unique` statement of this index hold
    /// these values, from an index: perhaps more than those, never fewer.
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
