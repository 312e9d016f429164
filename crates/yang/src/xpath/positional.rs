//! Detection of predicates that depend on the position of a node.

use super::{BinaryOperator, Expr, Function};

/// Returns whether the value of an expression may be a number.
pub(crate) fn may_be_number(expr: &Expr) -> bool {
    match expr {
        Expr::Number(_) | Expr::Negate(_) => true,
        Expr::Binary(operator, ..) => matches!(
            operator,
            BinaryOperator::Add
                | BinaryOperator::Subtract
                | BinaryOperator::Multiply
                | BinaryOperator::Divide
                | BinaryOperator::Modulo
        ),
        Expr::Call(function, _) => matches!(
            function,
            Function::Last
                | Function::Position
                | Function::Count
                | Function::StringLength
                | Function::Number
                | Function::Sum
                | Function::Floor
                | Function::Ceiling
                | Function::Round
                | Function::EnumValue
        ),
        // Evaluation rejects it in any case.
        Expr::Variable(..) => true,
        _ => false,
    }
}

/// Returns whether a predicate may depend on the position of the node.
pub(crate) fn is_positional(predicate: &Expr) -> bool {
    may_be_number(predicate)
        || calls_function(predicate, &|function| {
            matches!(function, Function::Position | Function::Last)
        })
}

/// Returns whether an expression calls a function in its own context, not in that of a nested predicate.
pub(crate) fn calls_function(expr: &Expr, is_match: &dyn Fn(Function) -> bool) -> bool {
    match expr {
        Expr::Or(operands) | Expr::And(operands) | Expr::Union(operands) => operands
            .iter()
            .any(|operand| calls_function(operand, is_match)),
        Expr::Binary(_, left, right) => {
            calls_function(left, is_match) || calls_function(right, is_match)
        }
        Expr::Negate(inner) => calls_function(inner, is_match),
        Expr::Filter { primary, .. } => calls_function(primary, is_match),
        Expr::Call(function, arguments) => {
            is_match(*function)
                || arguments
                    .iter()
                    .any(|argument| calls_function(argument, is_match))
        }
        Expr::Path(_) | Expr::Literal(_) | Expr::Number(_) | Expr::Variable(..) => false,
    }
}
