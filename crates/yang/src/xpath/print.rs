//! Prints an expression in the shortest form that parses to the same tree.

use std::fmt::{self, Display, Formatter, Write};

use super::{Axis, BinaryOperator, Expr, Expression, LocationPath, NodeTest, PathStep};

impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.root.fmt(f)
    }
}

/// The precedence of the outermost operator, lowest first.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Strength {
    Or,
    And,
    Binary(u8),
    Negate,
    Union,
    Path,
    Primary,
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Or(operands) => joined(operands, " or ", Strength::And, f),
            Self::And(operands) => joined(operands, " and ", Strength::Binary(0), f),
            Self::Union(operands) => joined(operands, " | ", Strength::Path, f),
            Self::Binary(operator, left, right) => {
                operand(left, Strength::Binary(operator.level()), f)?;
                write!(f, " {operator} ")?;
                operand(right, right_of(*operator), f)
            }
            Self::Negate(inner) => {
                f.write_char('-')?;
                operand(inner, Strength::Negate, f)
            }
            Self::Path(path) => path.fmt(f),
            Self::Filter {
                primary,
                predicates,
                steps,
            } => {
                operand(primary, Strength::Primary, f)?;
                fmt_predicates(predicates, f)?;
                fmt_steps(steps, Separator::Before, f)
            }
            Self::Call(function, arguments) => {
                write!(f, "{}(", function.as_str())?;
                joined(arguments, ", ", Strength::Or, f)?;
                f.write_char(')')
            }
            Self::Literal(text) => fmt_literal(text, f),
            Self::Number(number) => number.fmt(f),
            Self::Variable(Some(module), name) => write!(f, "${module}:{name}"),
            Self::Variable(None, name) => write!(f, "${name}"),
        }
    }
}

fn strength(expr: &Expr) -> Strength {
    match expr {
        Expr::Or(_) => Strength::Or,
        Expr::And(_) => Strength::And,
        Expr::Binary(operator, ..) => Strength::Binary(operator.level()),
        Expr::Negate(_) => Strength::Negate,
        Expr::Union(_) => Strength::Union,
        Expr::Path(_) | Expr::Filter { .. } => Strength::Path,
        Expr::Call(..) | Expr::Literal(_) | Expr::Number(_) | Expr::Variable(..) => {
            Strength::Primary
        }
    }
}

/// The precedence that the right operand must exceed: operators of one level are left-associative.
fn right_of(operator: BinaryOperator) -> Strength {
    match operator.level() {
        3 => Strength::Negate,
        level => Strength::Binary(level + 1),
    }
}

/// Prints an operand, in parentheses if it binds too weakly, or if it is the root: after `/`, an operator would be
/// read as a name.
fn operand(expr: &Expr, least: Strength, f: &mut Formatter<'_>) -> fmt::Result {
    let is_root = matches!(expr, Expr::Path(path) if path.is_absolute && path.steps.is_empty());
    if is_root || strength(expr) < least {
        write!(f, "({expr})")
    } else {
        expr.fmt(f)
    }
}

fn joined(exprs: &[Expr], by: &str, least: Strength, f: &mut Formatter<'_>) -> fmt::Result {
    for (index, expr) in exprs.iter().enumerate() {
        if index > 0 {
            f.write_str(by)?;
        }
        operand(expr, least, f)?;
    }
    Ok(())
}

/// Prints a literal in the quotes that it does not contain. One that contains both, which no parsed expression has, is
/// printed as a `concat()` of the same value.
fn fmt_literal(text: &str, f: &mut Formatter<'_>) -> fmt::Result {
    match (text.contains('\''), text.contains('"')) {
        (false, _) => write!(f, "'{text}'"),
        (true, false) => write!(f, "\"{text}\""),
        (true, true) => write!(f, "concat('{}')", text.replace('\'', "', \"'\", '")),
    }
}

impl Display for BinaryOperator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "div",
            Self::Modulo => "mod",
        })
    }
}

impl Display for LocationPath {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.is_absolute, self.steps.is_empty()) {
            (true, true) => f.write_char('/'),
            (true, false) => fmt_steps(&self.steps, Separator::Before, f),
            (false, _) => fmt_steps(&self.steps, Separator::None, f),
        }
    }
}

/// The separator before the first step.
#[derive(Clone, Copy, PartialEq)]
enum Separator {
    None,
    Before,
}

fn fmt_steps(steps: &[PathStep], first: Separator, f: &mut Formatter<'_>) -> fmt::Result {
    let mut separated = first == Separator::Before;
    let mut rest = steps;
    while let [step, after @ ..] = rest {
        if separated {
            f.write_char('/')?;
        }
        rest = after;
        // `//` is printed between two steps, or between the root and a step.
        if separated && !after.is_empty() && is_descent(step) {
            f.write_char('/')?;
            step_after_descent(after, f)?;
            rest = &after[1..];
        } else {
            step.fmt(f)?;
        }
        separated = true;
    }
    Ok(())
}

fn step_after_descent(steps: &[PathStep], f: &mut Formatter<'_>) -> fmt::Result {
    steps.first().map_or(Ok(()), |step| step.fmt(f))
}

fn is_descent(step: &PathStep) -> bool {
    *step == PathStep::new(Axis::DescendantOrSelf, NodeTest::Node)
}

impl Display for PathStep {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.axis, &self.test, self.predicates.is_empty()) {
            (Axis::SelfNode, NodeTest::Node, true) => return f.write_char('.'),
            (Axis::Parent, NodeTest::Node, true) => return f.write_str(".."),
            (Axis::Child, test, _) => test.fmt(f)?,
            (Axis::Attribute, test, _) => write!(f, "@{test}")?,
            (axis, test, _) => write!(f, "{}::{test}", axis.as_str())?,
        }
        fmt_predicates(&self.predicates, f)
    }
}

fn fmt_predicates(predicates: &[Expr], f: &mut Formatter<'_>) -> fmt::Result {
    predicates.iter().try_for_each(|expr| write!(f, "[{expr}]"))
}

impl Display for NodeTest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(Some(module), name) => write!(f, "{module}:{name}"),
            Self::Name(None, name) => f.write_str(name),
            Self::AnyName => f.write_char('*'),
            Self::AnyNameIn(module) => write!(f, "{module}:*"),
            Self::Node => f.write_str("node()"),
            Self::Text => f.write_str("text()"),
            Self::Comment => f.write_str("comment()"),
            Self::ProcessingInstruction(None) => f.write_str("processing-instruction()"),
            Self::ProcessingInstruction(Some(target)) => {
                f.write_str("processing-instruction(")?;
                fmt_literal(target, f)?;
                f.write_char(')')
            }
        }
    }
}
