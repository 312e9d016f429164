//! XPath queries on a view.

use espalier_yang::xpath::Expression;
use espalier_yang::xpath::evaluate::{Evaluator, Item, Limits};
use espalier_yang::{InstancePath, Instances, Keys, Value};

use super::selection::Selection;
use super::validate::{Indexes, StoreInstances, are_indexes_current};
use super::view::View;
use crate::error::Result;

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
            let has_indexes = sources.is_none()
                && are_indexes_current(state.compiled, state.tree, state.snapshot)?;
            let indexes = match has_indexes {
                true => Indexes::Current,
                false => Indexes::Missing,
            };
            let data = StoreInstances::new(state, indexes);
            let evaluator = Evaluator::new(&data, Limits::default());
            let found = evaluator.select(expression, &Item::Inner(data.root()))?;
            found.iter().map(|item| selected(&data, item)).collect()
        })
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
