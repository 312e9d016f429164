//! Expands `//name` in the constraints of configuration to the absolute paths of the nodes of that name.
//!
//! `//name` reads everything around such nodes: every change would re-evaluate the constraint, in every list on the
//! way. The schema has the positions of the nodes of that name, so `//name[p]/x` is expanded to `/a/b/name[p]/x`, or to
//! a union of such paths. Positions are unchanged: both forms count from each parent.

use super::rewrite_conditions;
use crate::schema::{Constraint, Node, NodeId, NodeKind, Schema};
use crate::xpath::{Axis, Expr, LocationPath, NodeTest, PathStep};

// `//name` would read every node above nodes of that name: docs/decisions/0021.
/// A name with more nodes than this is not expanded.
const PATHS_MAX: usize = 4;

/// Expands every `//name` in the constraints of configuration that matches few nodes.
pub(super) fn expand(schema: &mut Schema) {
    for id in (0..schema.nodes.len() as u32).map(NodeId) {
        let node = schema.nodes.get_mut(id).filter(|node| node.is_config);
        let Some(node) = node else {
            continue;
        };
        let mut musts = std::mem::take(&mut node.musts);
        let mut whens = std::mem::take(&mut node.whens);
        for constraint in musts.iter_mut().chain(&mut whens) {
            rewrite_conditions::rewrite(&mut constraint.expression.root);
        }
        expand_constraints(schema, &mut musts);
        expand_constraints(schema, &mut whens);
        if let Some(node) = schema.nodes.get_mut(id) {
            node.musts = musts;
            node.whens = whens;
        }
    }
    for index in 0..schema.choices.len() {
        if schema.choices[index].is_config {
            let mut whens = std::mem::take(&mut schema.choices[index].whens);
            expand_constraints(schema, &mut whens);
            schema.choices[index].whens = whens;
        }
    }
}

fn expand_constraints(schema: &Schema, constraints: &mut [Constraint]) {
    for constraint in constraints {
        if constraint.text.contains("//") || constraint.text.contains("descendant-or-self") {
            expand_expression(schema, &mut constraint.expression.root);
        }
    }
}

fn expand_expression(schema: &Schema, expr: &mut Expr) {
    match expr {
        Expr::Or(parts) | Expr::And(parts) | Expr::Union(parts) | Expr::Call(_, parts) => {
            parts
                .iter_mut()
                .for_each(|part| expand_expression(schema, part));
        }
        Expr::Binary(_, left, right) => {
            expand_expression(schema, left);
            expand_expression(schema, right);
        }
        Expr::Negate(inner) => expand_expression(schema, inner),
        Expr::Filter {
            primary,
            predicates,
            steps,
        } => {
            expand_expression(schema, primary);
            predicates
                .iter_mut()
                .for_each(|part| expand_expression(schema, part));
            expand_predicates(schema, steps);
        }
        Expr::Path(path) => {
            expand_predicates(schema, &mut path.steps);
            if let Some(paths) = paths(schema, path) {
                *expr = match <[LocationPath; 1]>::try_from(paths) {
                    Ok([path]) => Expr::Path(path),
                    Err(paths) => Expr::Union(paths.into_iter().map(Expr::Path).collect()),
                };
            }
        }
        Expr::Literal(_) | Expr::Number(_) | Expr::Variable(..) => {}
    }
}

fn expand_predicates(schema: &Schema, steps: &mut [PathStep]) {
    let predicates = steps.iter_mut().flat_map(|step| &mut step.predicates);
    predicates.for_each(|predicate| expand_expression(schema, predicate));
}

/// The expansion of an absolute path with `//`; `None` if it has no `//`, or is not expanded.
fn paths(schema: &Schema, path: &LocationPath) -> Option<Vec<LocationPath>> {
    let at = path.steps.iter().position(is_descent)?;
    let (before, [_, named, after @ ..]) = path.steps.split_at(at) else {
        return None;
    };
    if !path.is_absolute || named.axis != Axis::Child {
        return None;
    }
    let from = before
        .iter()
        .try_fold(None, |from, step| child(schema, from, step).map(Some))?;
    let found: Vec<NodeId> = schema
        .nodes()
        .filter(|node| node.is_config && passes(schema, node, &named.test))
        .map(|node| node.id)
        .filter(|&id| is_below(schema, id, from))
        .take(PATHS_MAX + 1)
        .collect();
    if found.is_empty() || found.len() > PATHS_MAX {
        return None;
    }
    let written = found.into_iter().map(|node| {
        let mut steps = before.to_vec();
        let mut around: Vec<NodeId> = above(schema, node)
            .skip(1)
            .take_while(|&id| Some(id) != from)
            .collect();
        around.reverse();
        steps.extend(around.into_iter().map(|id| step_to(schema, id)));
        let mut last = step_to(schema, node);
        last.predicates = named.predicates.clone();
        steps.push(last);
        steps.extend_from_slice(after);
        LocationPath {
            is_absolute: true,
            steps,
        }
    });
    // The remaining steps may contain `//` again.
    let mut all = Vec::new();
    for path in written {
        match paths(schema, &path) {
            Some(more) => all.extend(more),
            None => all.push(path),
        }
    }
    Some(all)
}

/// Returns whether a step is the abbreviated part of `//`.
fn is_descent(step: &PathStep) -> bool {
    step.axis == Axis::DescendantOrSelf && step.test == NodeTest::Node && step.predicates.is_empty()
}

/// The node that a step leads to, if the step names a child.
fn child(schema: &Schema, from: Option<NodeId>, step: &PathStep) -> Option<NodeId> {
    let NodeTest::Name(module, name) = &step.test else {
        return None;
    };
    if step.axis != Axis::Child {
        return None;
    }
    let children = from.map_or(schema.roots(), |node| &schema.node(node).children);
    let is_named = |id: &&NodeId| {
        let node = schema.node(**id);
        *node.name == **name && is_of(schema, node, module.as_deref())
    };
    let mut named = children.iter().filter(is_named);
    let found = named.next().copied();
    found.filter(|_| named.next().is_none())
}

fn passes(schema: &Schema, node: &Node, test: &NodeTest) -> bool {
    let is_operation = matches!(
        node.kind,
        NodeKind::Input | NodeKind::Output | NodeKind::Rpc | NodeKind::Action
    );
    match test {
        NodeTest::Name(module, name) => {
            !is_operation && *node.name == **name && is_of(schema, node, module.as_deref())
        }
        _ => false,
    }
}

fn is_of(schema: &Schema, node: &Node, module: Option<&str>) -> bool {
    module.is_none_or(|module| *schema.module(node.module).name == *module)
}

fn is_below(schema: &Schema, node: NodeId, from: Option<NodeId>) -> bool {
    from.is_none_or(|from| above(schema, node).skip(1).any(|id| id == from))
}

/// A node and its ancestors, innermost first.
fn above(schema: &Schema, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
    std::iter::successors(Some(node), |&id| schema.node(id).parent)
}

fn step_to(schema: &Schema, node: NodeId) -> PathStep {
    let node = schema.node(node);
    let module = schema.module(node.module).name.clone();
    PathStep::new(Axis::Child, NodeTest::Name(Some(module), node.name.clone()))
}
