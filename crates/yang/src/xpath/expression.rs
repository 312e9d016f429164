//! The syntax tree.

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// The expression as it was written.
    pub text: Box<str>,
}
