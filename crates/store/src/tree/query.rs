//! XPath queries on a view.

use espalier_yang::xpath::Expression;
use espalier_yang::xpath::evaluate::{Evaluator, Item, Leaf, Limits};
use espalier_yang::{InstancePath, Instances, Keys, Value};

use super::filter::{Plan, plan_of_nodes};
use super::locate::TreeState;
use super::read::Sources;
use super::readable_instances::ReadableInstances;
use super::selection::{Selection, WithDefaults};
use super::validate::{Indexes, StoreInstances, are_indexes_current};
use super::view::View;
use crate::access::AccessTable;
use crate::error::{Error, Result};

/// A node selected by an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// Its path.
    pub path: InstancePath,
    /// The value of a leaf or leaf-list entry; [`Value::Empty`] for `anydata` and `anyxml`.
    pub value: Option<Value>,
}

impl View {
    /// The nodes selected by an XPath expression with the root as its context node, in document order.
    /// Nodes addressed by their keys, or by indexed leaves, are read directly; others are searched for.
    ///
    /// # Errors
    /// [`crate::Error::Data`] if the result is not a node set, or if evaluation visits too many nodes
    /// ([`espalier_yang::xpath::evaluate::STEPS_MAX`]).
    pub fn select(&self, expression: &Expression) -> Result<Vec<Selected>> {
        let (root, everything) = (InstancePath::root(), Selection::default());
        self.with_state(&root, &everything, &mut |state, sources| {
            let data = instances(state, sources)?;
            let selected = |item: &_| selected(&data, item);
            match self.access.as_deref() {
                None => evaluate(&data, expression)?.iter().map(selected).collect(),
                Some(access) => {
                    let access = (access, WithDefaults::Explicit);
                    let readable = ReadableInstances::new(&data, (state, sources), access);
                    let found = evaluate(&readable, expression)?;
                    found
                        .into_iter()
                        .map(|item| selected(&unrestricted(item)))
                        .collect()
                }
            }
        })
    }
}

/// The plan of the nodes that an expression selects of what a reader may see.
pub(super) fn selected_nodes(
    (state, sources): (TreeState<'_>, Option<&dyn Sources>),
    access: Option<(&AccessTable, WithDefaults)>,
    expression: &Expression,
) -> Result<Plan> {
    let data = instances(state, sources)?;
    match access {
        None => plan_of_nodes(state, evaluate(&data, expression)?),
        Some(access) => {
            let readable = ReadableInstances::new(&data, (state, sources), access);
            plan_of_nodes(state, evaluate(&readable, expression)?)
        }
    }
}

/// The data of a state for XPath, with the indexes that it has.
pub(super) fn instances<'a>(
    state: TreeState<'a>,
    sources: Option<&dyn Sources>,
) -> Result<StoreInstances<'a>> {
    let has_indexes =
        sources.is_none() && are_indexes_current(state.compiled, state.tree, state.snapshot)?;
    let indexes = match has_indexes {
        true => Indexes::Current,
        false => Indexes::Missing,
    };
    Ok(StoreInstances::new(state, indexes))
}

fn evaluate<T: Instances<Error = Error>>(
    data: &T,
    expression: &Expression,
) -> Result<Vec<Item<T>>> {
    let evaluator = Evaluator::new(data, Limits::default());
    evaluator.select(expression, &Item::Inner(data.root()))
}

/// The same node, of all data.
fn unrestricted<'a>(item: Item<ReadableInstances<'_, '_>>) -> Item<StoreInstances<'a>> {
    let leaf = |leaf: Leaf<ReadableInstances<'_, '_>>| Leaf {
        holder: leaf.holder,
        node: leaf.node,
        value: leaf.value,
        is_default: leaf.is_default,
        index: leaf.index,
    };
    match item {
        Item::Inner(place) => Item::Inner(place),
        Item::Leaf(found) => Item::Leaf(leaf(found)),
        Item::Text(found) => Item::Text(leaf(found)),
    }
}

fn selected<'a>(data: &StoreInstances<'a>, item: &Item<StoreInstances<'a>>) -> Result<Selected> {
    let leaf = match item {
        Item::Inner(place) => {
            let path = data.path(place)?;
            return Ok(Selected { path, value: None });
        }
        Item::Leaf(leaf) | Item::Text(leaf) => leaf,
    };
    let keys = match data.schema().node(leaf.node).is_leaf_list() {
        true => Keys::Values(vec![leaf.value.clone()]),
        false => Keys::None,
    };
    Ok(Selected {
        path: data.path(&leaf.holder)?.child(leaf.node, keys),
        value: Some(leaf.value.clone()),
    })
}
