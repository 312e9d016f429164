//! The XPath subset of a leafref's `path` (RFC 7950 §9.9.2 and `path-arg` of §14).

use super::{Axis, BinaryOperator, Expr, Expression, Function, NodeTest, PathStep, XPathError};

/// Checks that the expression is a leafref path.
pub(super) fn check(expression: &Expression) -> Result<(), XPathError> {
    let steps = match &expression.root {
        Expr::Path(path) if !path.steps.is_empty() => &path.steps,
        Expr::Filter {
            primary,
            predicates,
            steps,
        } if predicates.is_empty() && is_deref(primary) => steps,
        root if is_deref(root) => return Ok(()),
        root => {
            return Err(unexpected(
                root,
                "a location path or deref() followed by a path",
            ));
        }
    };
    steps.iter().try_for_each(check_step)
}

fn unexpected(found: &dyn ToString, expected: &str) -> XPathError {
    XPathError::new(
        1,
        found.to_string(),
        format!("in a leafref's path {expected}"),
    )
}

fn is_deref(expr: &Expr) -> bool {
    matches!(expr, Expr::Call(Function::Deref, _))
}

fn check_step(step: &PathStep) -> Result<(), XPathError> {
    let is_allowed = match step.axis {
        Axis::Parent | Axis::SelfNode => step.test == NodeTest::Node && step.predicates.is_empty(),
        Axis::Child => matches!(step.test, NodeTest::Name(..)),
        _ => false,
    };
    if !is_allowed {
        return Err(unexpected(step, "'..' or the name of a node"));
    }
    step.predicates.iter().try_for_each(check_predicate)
}

/// `[key = current()/../x]`.
fn check_predicate(predicate: &Expr) -> Result<(), XPathError> {
    let is_allowed = match predicate {
        Expr::Binary(BinaryOperator::Equal, key, value) => is_key(key) && is_from_current(value),
        _ => false,
    };
    if is_allowed {
        Ok(())
    } else {
        Err(unexpected(
            predicate,
            "a predicate that compares a key with a path from current()",
        ))
    }
}

fn is_key(expr: &Expr) -> bool {
    match expr {
        Expr::Path(path) => {
            let named = |step: &PathStep| {
                step.axis == Axis::Child && matches!(step.test, NodeTest::Name(..))
            };
            !path.is_absolute && path.steps.len() == 1 && path.steps.iter().all(named)
        }
        _ => false,
    }
}

fn is_from_current(expr: &Expr) -> bool {
    match expr {
        Expr::Filter {
            primary,
            predicates,
            ..
        } => predicates.is_empty() && matches!(**primary, Expr::Call(Function::Current, _)),
        _ => false,
    }
}
