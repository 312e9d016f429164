//! The plan of an XPath expression that names nodes and keys only.
//!
//! `/a/b[key='x']/c`, `/a//d`, `/a/* | /e`. Every other predicate, axis and function needs an evaluation.

use espalier_yang::schema::Node;
use espalier_yang::xpath::evaluate::literal_value;
use espalier_yang::xpath::{
    Axis, BinaryOperator, Expr, Function, Literal, LocationPath, NodeTest, PathStep,
};
use espalier_yang::{Keys, NodeId, NodeKind, Schema, Value};

use super::plan::{Instance, Plan, PlanId};
use crate::error::Result;
use crate::node_numbers::is_data;

/// The plan of an expression; `None` if it must be evaluated.
///
/// # Errors
/// `too-big` beyond [`FILTER_PLAN_NODES_MAX`](super::FILTER_PLAN_NODES_MAX).
pub(super) fn plan_path(schema: &Schema, expr: &Expr) -> Result<Option<Plan>> {
    plan(schema, expr, Precision::Selected)
}

/// A plan of what the evaluation of an expression may read, and more.
///
/// # Errors
/// `too-big` beyond [`FILTER_PLAN_NODES_MAX`](super::FILTER_PLAN_NODES_MAX).
pub(super) fn plan_reads(schema: &Schema, expr: &Expr) -> Result<Plan> {
    let reads = plan(schema, expr, Precision::Read)?;
    Ok(reads.unwrap_or_else(Plan::everything))
}

/// What a plan is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Precision {
    /// The selected nodes.
    Selected,
    /// The nodes that an evaluation reads: below a predicate, everything.
    Read,
}

fn plan(schema: &Schema, expr: &Expr, precision: Precision) -> Result<Option<Plan>> {
    let single = std::slice::from_ref(expr);
    let operands = match expr {
        Expr::Union(operands) => operands.as_slice(),
        _ => single,
    };
    let mut plan = Plan::default();
    let root = plan.add_root(Vec::new())?;
    for operand in operands {
        let Expr::Path(path) = operand else {
            return Ok(None);
        };
        let mut planner = Planner {
            schema,
            plan: &mut plan,
            precision,
        };
        if !planner.add(root, path)? {
            return Ok(None);
        }
    }
    Ok(Some(plan.sorted()))
}

struct Planner<'a> {
    schema: &'a Schema,
    plan: &'a mut Plan,
    precision: Precision,
}

/// A node that the steps so far select.
#[derive(Clone, Copy)]
enum Reached {
    /// A container, list or leaf-list, or the datastore.
    Inner(PlanId),
    /// A leaf below a node.
    Leaf(PlanId, NodeId),
}

/// The levels of a step from the nodes before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Levels {
    One,
    Any,
}

impl Planner<'_> {
    /// Adds what a path selects; false if it must be evaluated.
    fn add(&mut self, root: PlanId, path: &LocationPath) -> Result<bool> {
        let mut reached = vec![Reached::Inner(root)];
        let mut levels = Levels::One;
        for step in &path.steps {
            let is_any_node = step.test == NodeTest::Node && step.predicates.is_empty();
            match step.axis {
                Axis::SelfNode if is_any_node => continue,
                Axis::DescendantOrSelf if is_any_node => levels = Levels::Any,
                Axis::Child => {
                    let Some(next) = self.step(&reached, step, levels)? else {
                        return Ok(false);
                    };
                    (reached, levels) = (next, Levels::One);
                }
                _ => return Ok(false),
            }
        }
        // The datastore and everything below is the datastore.
        for node in reached {
            match node {
                Reached::Inner(id) => self.plan.select(id),
                Reached::Leaf(parent, leaf) => self.plan.select_leaf(parent, leaf, None),
            }
        }
        Ok(true)
    }

    /// The nodes that a step selects; `None` if it must be evaluated.
    fn step(
        &mut self,
        from: &[Reached],
        step: &PathStep,
        levels: Levels,
    ) -> Result<Option<Vec<Reached>>> {
        let mut reached = Vec::new();
        for parent in from {
            let Reached::Inner(parent) = *parent else {
                continue;
            };
            if !self.step_from(parent, step, levels, &mut reached)? {
                return Ok(None);
            }
        }
        Ok(Some(reached))
    }

    fn step_from(
        &mut self,
        parent: PlanId,
        step: &PathStep,
        levels: Levels,
        reached: &mut Vec<Reached>,
    ) -> Result<bool> {
        let above = self.plan.node(parent).node;
        let schema = self.schema;
        let children = above.map_or(schema.roots(), |above| &schema.node(above).children);
        for &id in children.iter().filter(|&&id| is_data(schema, id)) {
            let node = schema.node(id);
            if levels == Levels::Any && has_match_below(schema, node, &step.test) {
                let all = self.plan.child(parent, id, Instance::ALL)?;
                if !self.step_from(all, step, levels, reached)? {
                    return Ok(false);
                }
            }
            let Some(is_match) = matches(schema, node, &step.test) else {
                return Ok(false);
            };
            if is_match {
                let Some(next) = self.instances(parent, node, &step.predicates)? else {
                    return Ok(false);
                };
                reached.push(next);
            }
        }
        Ok(true)
    }

    /// Whether a plan of reads may have everything below the nodes with these predicates in place of them.
    fn may_read_below(&self, predicates: &[Expr]) -> bool {
        self.precision == Precision::Read && predicates.iter().all(stays_below)
    }

    /// The instances of a child with these predicates; `None` if they need an evaluation.
    fn instances(
        &mut self,
        parent: PlanId,
        node: &Node,
        predicates: &[Expr],
    ) -> Result<Option<Reached>> {
        if matches!(
            node.kind,
            NodeKind::Leaf(_) | NodeKind::AnyData | NodeKind::AnyXml
        ) {
            let leaf = Reached::Leaf(parent, node.id);
            return Ok((predicates.is_empty() || self.may_read_below(predicates)).then_some(leaf));
        }
        let Some(keys) = keys_of(self.schema, node, predicates) else {
            if !self.may_read_below(predicates) {
                return Ok(None);
            }
            let all = self.plan.child(parent, node.id, Instance::ALL)?;
            self.plan.select(all);
            return Ok(Some(Reached::Inner(all)));
        };
        let child = self.plan.child(parent, node.id, Instance::Keys(keys))?;
        Ok(Some(Reached::Inner(child)))
    }
}

/// Whether the value of an expression depends on the context node and what is below it only.
pub(in crate::tree) fn stays_below(expr: &Expr) -> bool {
    let is_down = |step: &PathStep| {
        let is_down = matches!(
            step.axis,
            Axis::Child | Axis::SelfNode | Axis::Descendant | Axis::DescendantOrSelf
        );
        is_down && step.predicates.iter().all(stays_below)
    };
    match expr {
        Expr::Or(operands) | Expr::And(operands) | Expr::Union(operands) => {
            operands.iter().all(stays_below)
        }
        Expr::Binary(_, left, right) => stays_below(left) && stays_below(right),
        Expr::Negate(operand) => stays_below(operand),
        Expr::Path(path) => !path.is_absolute && path.steps.iter().all(is_down),
        Expr::Filter {
            primary,
            predicates,
            steps,
        } => {
            stays_below(primary) && predicates.iter().all(stays_below) && steps.iter().all(is_down)
        }
        Expr::Call(function, arguments) => {
            let is_elsewhere =
                matches!(function, Function::Current | Function::Deref | Function::Id);
            !is_elsewhere && arguments.iter().all(stays_below)
        }
        Expr::Literal(_) | Expr::Number(_) => true,
        Expr::Variable(..) => false,
    }
}

/// Whether a node passes a test; `None` if that must be evaluated.
pub(in crate::tree) fn matches(schema: &Schema, node: &Node, test: &NodeTest) -> Option<bool> {
    let is_in = |module: &str| *schema.module(node.module).name == *module;
    match test {
        NodeTest::Name(module, name) => {
            Some(node.name == *name && module.as_deref().is_none_or(is_in))
        }
        NodeTest::AnyNameIn(module) => Some(is_in(module)),
        NodeTest::AnyName | NodeTest::Node => Some(true),
        NodeTest::Text | NodeTest::Comment | NodeTest::ProcessingInstruction(_) => None,
    }
}

/// Whether a node below another passes a test.
fn has_match_below(schema: &Schema, node: &Node, test: &NodeTest) -> bool {
    node.children.iter().any(|&child| {
        let child = schema.node(child);
        is_data(schema, child.id)
            && (matches(schema, child, test) != Some(false) || has_match_below(schema, child, test))
    })
}

/// The keys that predicates give: all of an entry, or the leading ones of a list in the order of its keys; `None` if the
/// predicates need an evaluation.
fn keys_of(schema: &Schema, node: &Node, predicates: &[Expr]) -> Option<Keys> {
    if predicates.is_empty() {
        return Some(Keys::None);
    }
    let compared = compared_keys(schema, node, predicates);
    let keys = compared.leading(node)?;
    compared.is_exact.then_some(Keys::Values(keys))
}

/// The leading keys of the entries of a list for which an expression can be true, and whether it is true for all of
/// these.
pub(in crate::tree) fn leading_keys(
    schema: &Schema,
    list: &Node,
    expr: &Expr,
) -> (Vec<Value>, bool) {
    let compared = compared_keys(schema, list, std::slice::from_ref(expr));
    match compared.leading(list) {
        Some(keys) => (keys, compared.is_exact),
        None => (compared.first(list), false),
    }
}

/// The keys that predicates compare with values.
struct ComparedKeys {
    /// The value of each key, if it is compared with one.
    values: Vec<Option<Value>>,
    /// Whether the predicates compare nothing else.
    is_exact: bool,
}

impl ComparedKeys {
    /// The values, if they are of the first keys and, in a list that is not in the order of its keys, of all.
    fn leading(&self, list: &Node) -> Option<Vec<Value>> {
        let given = self.first(list);
        let is_all = given.len() == self.values.iter().flatten().count();
        (is_all && (given.len() == self.values.len() || !list.is_positional())).then_some(given)
    }

    /// The values of the first keys, as far as the order of the list has their entries together.
    fn first(&self, list: &Node) -> Vec<Value> {
        let given: Vec<Value> = self.values.iter().map_while(Clone::clone).collect();
        match given.len() == self.values.len() || !list.is_positional() {
            true => given,
            false => Vec::new(),
        }
    }
}

fn compared_keys(schema: &Schema, node: &Node, predicates: &[Expr]) -> ComparedKeys {
    let keys = node.keys();
    let mut compared = ComparedKeys {
        values: vec![None; keys.len()],
        is_exact: !keys.is_empty(),
    };
    for predicate in predicates {
        let operands = match predicate {
            Expr::And(operands) => operands.as_slice(),
            other => std::slice::from_ref(other),
        };
        for operand in operands {
            let found = compared_key(schema, keys, operand);
            match found.filter(|(index, _)| compared.values[*index].is_none()) {
                Some((index, value)) => compared.values[index] = Some(value),
                None => compared.is_exact = false,
            }
        }
    }
    compared
}

/// The index and the value of the key that an expression compares for equality.
fn compared_key(schema: &Schema, keys: &[NodeId], expr: &Expr) -> Option<(usize, Value)> {
    let (name, text) = equality(expr)?;
    let is_named = |&key: &NodeId| matches(schema, schema.node(key), name) == Some(true);
    let index = keys.iter().position(is_named)?;
    Some((index, literal_value(schema, keys[index], text)?))
}

/// The child and the literal of `child = 'literal'`, in either order.
fn equality(expr: &Expr) -> Option<(&NodeTest, &Literal)> {
    let Expr::Binary(BinaryOperator::Equal, left, right) = expr else {
        return None;
    };
    let (path, literal) = match (&**left, &**right) {
        (Expr::Path(path), Expr::Literal(literal)) | (Expr::Literal(literal), Expr::Path(path)) => {
            (path, literal)
        }
        _ => return None,
    };
    match path.steps.as_slice() {
        [step] if !path.is_absolute && step.axis == Axis::Child && step.predicates.is_empty() => {
            Some((&step.test, literal))
        }
        _ => None,
    }
}
