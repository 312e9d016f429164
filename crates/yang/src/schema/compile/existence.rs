//! Rewrites the condition `e[v != x]` to `e/v != x`.
//!
//! Both are true if there is an entry with a `v` that differs from `x`, because comparisons of node-sets are
//! existential (XPath 1.0 §3.4). In the second form `x` is outside of the path, so that entries with different `x`
//! share the memoised results of `e/v`: its extremes, or its texts. Equalities are not rewritten: an index finds the
//! entry.

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
        _ => {}
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
