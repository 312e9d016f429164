//! Rewrites the condition `e[v != x]` to `e/v != x`, and `x = e[k != current()/k]/v` to `e[k != current()/k][v = x]`.
//!
//! The second form of either is cheaper.
//!
//! Both are true if there is an entry with a `v` that differs from `x`, because comparisons of node-sets are
//! existential (XPath 1.0 §3.4). In the second form `x` is outside of the path, so that entries with different `x`
//! share the memoised results of `e/v`: its extremes, or its texts. An equality is rewritten the other way if the
//! predicates of `e` differ from entry to entry, so that nothing is shared: an index finds the entry.

use crate::xpath::{
    Axis, BinaryOperator, Expr, Function, LocationPath, NodeTest, PathStep, is_positional,
};

/// Rewrites all such comparisons in an expression that is used as a boolean.
pub(super) fn rewrite(condition: &mut Expr) {
    match condition {
        Expr::Or(parts) | Expr::And(parts) => parts.iter_mut().for_each(rewrite),
        Expr::Call(Function::Not | Function::Boolean, arguments) => {
            arguments.iter_mut().for_each(rewrite);
        }
        Expr::Path(_) | Expr::Filter { .. } => {
            if let Some(comparison) = comparison(condition) {
                *condition = comparison;
            }
        }
        Expr::Binary(BinaryOperator::Equal, left, right) => {
            let found = existence(left, right, OperandSide::Left);
            if let Some(nodes) = found.or_else(|| existence(right, left, OperandSide::Right)) {
                *condition = comparison(&nodes).unwrap_or(nodes);
            }
        }
        _ => {}
    }
}

/// The side of an equality on which the path is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OperandSide {
    Left,
    Right,
}

/// The path that has a node if a path with predicates on the current node has one that equals `other`.
fn existence(nodes: &Expr, other: &Expr, side: OperandSide) -> Option<Expr> {
    let other = of_current(other)?;
    let Expr::Path(path) = nodes else {
        return None;
    };
    let at = path
        .steps
        .iter()
        .rposition(|step| !step.predicates.is_empty())?;
    let (steps, value) = path.steps.split_at(at + 1);
    let last = steps.last()?;
    if !last.predicates.iter().any(differs_by_entry) || last.predicates.iter().any(is_positional) {
        return None;
    }
    let value = Expr::Path(LocationPath {
        is_absolute: false,
        steps: value.to_vec(),
    });
    child_path(&value)?;
    let (left, right) = match side {
        OperandSide::Left => (value, other),
        OperandSide::Right => (other, value),
    };
    let mut steps = steps.to_vec();
    let equality = Expr::Binary(BinaryOperator::Equal, Box::new(left), Box::new(right));
    steps.last_mut()?.predicates.push(equality);
    Some(Expr::Path(LocationPath {
        is_absolute: path.is_absolute,
        steps,
    }))
}

/// An operand of a condition, as it is written in a predicate: what starts at the context node starts at `current()`.
fn of_current(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Path(path) if !path.is_absolute => {
            let is_plain = path.steps.iter().all(|step| step.predicates.is_empty());
            is_plain.then(|| Expr::Filter {
                primary: Box::new(Expr::Call(Function::Current, Vec::new())),
                predicates: Vec::new(),
                steps: path.steps.clone(),
            })
        }
        free => is_free(free).then(|| free.clone()),
    }
}

/// Returns whether the nodes that pass a predicate are different for each current node. An equality
/// (`[g = current()/g]`) makes groups, and the current nodes of a group share what is computed of it.
fn differs_by_entry(predicate: &Expr) -> bool {
    match predicate {
        Expr::And(parts) => parts.iter().any(differs_by_entry),
        Expr::Binary(BinaryOperator::Equal, ..) => false,
        other => contains_current(other),
    }
}

/// Returns whether an expression calls `current()`.
fn contains_current(expr: &Expr) -> bool {
    let in_steps = |steps: &[PathStep]| {
        let mut predicates = steps.iter().flat_map(|step| &step.predicates);
        predicates.any(contains_current)
    };
    match expr {
        Expr::Or(parts) | Expr::And(parts) | Expr::Union(parts) => {
            parts.iter().any(contains_current)
        }
        Expr::Binary(_, left, right) => contains_current(left) || contains_current(right),
        Expr::Negate(inner) => contains_current(inner),
        Expr::Path(path) => in_steps(&path.steps),
        Expr::Filter {
            primary,
            predicates,
            steps,
        } => {
            contains_current(primary) || predicates.iter().any(contains_current) || in_steps(steps)
        }
        Expr::Call(function, arguments) => {
            *function == Function::Current || arguments.iter().any(contains_current)
        }
        Expr::Literal(_) | Expr::Number(_) | Expr::Variable(..) => false,
    }
}

/// The comparison that is equivalent to the existence of a node, if there is one.
fn comparison(nodes: &Expr) -> Option<Expr> {
    let mut nodes = nodes.clone();
    let steps = match &mut nodes {
        Expr::Path(path) => &mut path.steps,
        Expr::Filter {
            primary,
            predicates,
            steps,
        } if matches!(**primary, Expr::Call(Function::Current, _)) && predicates.is_empty() => {
            steps
        }
        _ => return None,
    };
    let last = steps.last_mut().filter(|step| step.axis == Axis::Child)?;
    if last.predicates.iter().any(is_positional) {
        return None;
    }
    let (operator, left, right) = take_comparison(&mut last.predicates)?;
    let (path, other, is_left) = match (child_path(&left), child_path(&right)) {
        (Some(path), None) if is_free(&right) => (path, right, true),
        (None, Some(path)) if is_free(&left) => (path, left, false),
        _ => return None,
    };
    steps.extend(path);
    let (left, right) = if is_left {
        (nodes, other)
    } else {
        (other, nodes)
    };
    Some(Expr::Binary(operator, Box::new(left), Box::new(right)))
}

/// Removes the first comparison that may be moved out of predicates that must all hold.
fn take_comparison(predicates: &mut Vec<Expr>) -> Option<(BinaryOperator, Expr, Expr)> {
    let found = predicates.iter().position(|predicate| match predicate {
        Expr::And(parts) => parts.iter().any(is_movable),
        whole => is_movable(whole),
    })?;
    let taken = match &mut predicates[found] {
        Expr::And(parts) => {
            let index = parts.iter().position(is_movable)?;
            let taken = parts.remove(index);
            // A number alone would be a position: `e[v > 5 and 2]` is not `e[2]/v > 5`.
            if let [one] = &mut parts[..]
                && !is_positional(one)
            {
                predicates[found] = std::mem::replace(one, Expr::Number(0.0));
            }
            taken
        }
        _ => predicates.remove(found),
    };
    match taken {
        Expr::Binary(operator, left, right) => Some((operator, *left, *right)),
        _ => None,
    }
}

/// Returns whether an expression compares a leaf of the entry, by an operator other than equality, with a value that
/// is the same for all entries.
fn is_movable(part: &Expr) -> bool {
    let Expr::Binary(operator, left, right) = part else {
        return false;
    };
    let is_comparison = matches!(
        operator,
        BinaryOperator::NotEqual
            | BinaryOperator::Less
            | BinaryOperator::LessOrEqual
            | BinaryOperator::Greater
            | BinaryOperator::GreaterOrEqual
    );
    is_comparison
        && (child_path(left).is_some() && is_free(right)
            || child_path(right).is_some() && is_free(left))
}

/// The steps of a path that consists of child names only.
fn child_path(expr: &Expr) -> Option<Vec<PathStep>> {
    let Expr::Path(LocationPath {
        is_absolute: false,
        steps,
    }) = expr
    else {
        return None;
    };
    let is_plain = |step: &PathStep| {
        step.axis == Axis::Child
            && step.predicates.is_empty()
            && matches!(step.test, NodeTest::Name(..))
    };
    (!steps.is_empty() && steps.iter().all(is_plain)).then(|| steps.clone())
}

/// Returns whether an expression is a node-set, number or string that does not depend on the context node. (A
/// node-set is compared with a boolean as a whole.)
fn is_free(expr: &Expr) -> bool {
    match expr {
        Expr::Path(path) => path.is_absolute,
        Expr::Filter { primary, .. } => matches!(**primary, Expr::Call(Function::Current, _)),
        Expr::Call(Function::Current, _) | Expr::Number(_) | Expr::Literal(_) => true,
        _ => false,
    }
}
