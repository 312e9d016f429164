//! The defaults of the input of an operation.

use std::ops::ControlFlow;

use crate::data::{Content, DataNode, DataTree};
use crate::instances::Instances;
use crate::schema::{NodeId, NodeKind};
use crate::xpath::evaluate::{Evaluator, Limits};

/// The content of an input, output or notification, with the defaults that are in use in it (RFC 7950 §7.14.2). `data`
/// contains it at `from`; `tree` is the same as a tree, whose only top-level node is that of `from` (or missing if empty).
///
/// # Errors
/// Read errors.
pub fn with_operation_defaults<T: Instances>(
    data: &T,
    from: &T::Inner,
    node: NodeId,
    tree: &DataTree,
) -> Result<DataTree, T::Error> {
    let evaluator = Evaluator::new(data, Limits::default());
    let children = tree.nodes.first().map_or(&[][..], DataNode::children);
    let children = completed(&evaluator, from, node, children)?;
    let nodes = vec![DataNode::new(node, Content::Inner(children))];
    Ok(DataTree { nodes })
}

/// The children of a node, with defaults.
fn completed<T: Instances>(
    evaluator: &Evaluator<'_, T>,
    place: &T::Inner,
    node: NodeId,
    children: &[DataNode],
) -> Result<Vec<DataNode>, T::Error> {
    let schema = evaluator.data().schema();
    let mut all = Vec::with_capacity(children.len());
    for &child in &schema.node(node).children {
        let mut given = children.iter().filter(|one| one.node == child).peekable();
        match (&schema.node(child).kind, given.peek().is_some()) {
            (NodeKind::List(_), true) => {
                let mut entries = Vec::new();
                evaluator.data().entries(place, child, &mut |entry| {
                    entries.push(entry);
                    Ok(ControlFlow::Continue(()))
                })?;
                // Both are in the order of the document.
                for (entry, given) in entries.iter().zip(given) {
                    let below = completed(evaluator, entry, child, given.children())?;
                    all.push(with_children(given, below));
                }
            }
            (NodeKind::Container { .. }, true) => {
                let below = evaluator.data().container(place, child);
                for given in given {
                    let children = completed(evaluator, &below, child, given.children())?;
                    all.push(with_children(given, children));
                }
            }
            (_, true) => all.extend(given.cloned()),
            (NodeKind::Leaf(value) | NodeKind::LeafList(value), false)
                if !value.defaults.is_empty() =>
            {
                if evaluator.is_in_use(place, child)? {
                    let values = value.defaults.iter().cloned().map(Content::Value);
                    all.extend(values.map(|value| DataNode::new(child, value)));
                }
            }
            (NodeKind::Container { presence: false }, false) => {
                if evaluator.is_in_use(place, child)? {
                    let below = evaluator.data().container(place, child);
                    let children = completed(evaluator, &below, child, &[])?;
                    if !children.is_empty() {
                        all.push(DataNode::new(child, Content::Inner(children)));
                    }
                }
            }
            (_, false) => {}
        }
    }
    Ok(all)
}

fn with_children(node: &DataNode, children: Vec<DataNode>) -> DataNode {
    DataNode {
        content: Content::Inner(children),
        ..node.clone()
    }
}
