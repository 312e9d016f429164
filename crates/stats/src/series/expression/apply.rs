//! Evaluation of expressions.

use super::parse::{Expression, Node};
use crate::series::Series;
use crate::{Number, Path, PathValues};

impl Expression {
    /// The result for some values; `None` if a value that it needs is absent, for a division by zero, for the
    /// root of a negative number, and if the result is out of range.
    pub fn value(&self, values: &PathValues) -> Option<Number> {
        self.evaluate(&self.root, values)
    }

    fn evaluate(&self, node: &Node, values: &PathValues) -> Option<Number> {
        match node {
            Node::Number(number) => Some(*number),
            Node::Path(index) => values.get(&self.paths[*index]),
            Node::Negative(inner) => Some(self.evaluate(inner, values)?.negate()),
            Node::Binary(operator, left, right) => {
                let (left, right) = (self.evaluate(left, values)?, self.evaluate(right, values)?);
                binary(*operator, left, right)
            }
            Node::Aggregate(aggregate, arguments) => {
                let arguments = arguments.iter().map(|node| self.evaluate(node, values));
                let arguments = arguments.collect::<Option<Vec<_>>>()?;
                aggregate.of(arguments).ok()?
            }
            Node::SquareRoot(inner) => self.evaluate(inner, values)?.square_root(),
        }
    }
}

fn binary(operator: char, left: Number, right: Number) -> Option<Number> {
    match operator {
        '+' => left.plus(right).ok(),
        '-' => left.minus(right).ok(),
        '*' => left.multiply(right),
        _ => left.divide(right),
    }
}

impl Series {
    /// Sets the value at `response` in each point to the result of the expression; if there is no result, the
    /// point has no value there. The path belongs to the series even if no point has a value.
    pub fn transpond(&mut self, expression: &Expression, response: &Path) {
        self.computed.insert(response.clone());
        for point in self.points_mut() {
            match expression.value(&point.values) {
                Some(number) => point.values.set(response.clone(), number),
                None => point.values.remove(response),
            }
        }
    }
}
