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
        || mentions(predicate, &|function| {
            matches!(function, Function::Position | Function::Last)
        })
}

/// Returns whether an expression calls a function in its own context, not in that of a nested predicate.
pub(crate) fn mentions(expr: &Expr, wanted: &dyn Fn(Function) -> bool) -> bool {
    match expr {
        Expr::Or(operands) | Expr::And(operands) | Expr::Union(operands) => {
            operands.iter().any(|operand| mentions(operand, wanted))
        }
        Expr::Binary(_, left, right) => mentions(left, wanted) || mentions(right, wanted),
        Expr::Negate(inner) => mentions(inner, wanted),
        Expr::Filter { primary, .. } => mentions(primary, wanted),
        Expr::Call(function, arguments) => {
            wanted(*function) || arguments.iter().any(|argument| mentions(argument, wanted))
        }
        Expr::Path(_) | Expr::Literal(_) | Expr::Number(_) | Expr::Variable(..) => false,
    }
}
