//! The errors of expressions.

use std::fmt;

/// An expression that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XPathError {
    /// The position, in characters from 1.
    pub column: usize,
    /// The text at that position; empty at the end of the expression.
    pub found: Box<str>,
    /// The expected text.
    pub expected: Box<str>,
}

impl XPathError {
    pub(super) fn new(
        column: usize,
        found: impl Into<Box<str>>,
        expected: impl Into<Box<str>>,
    ) -> Self {
        Self {
            column,
            found: found.into(),
            expected: expected.into(),
        }
    }
}

impl fmt::Display for XPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (column, expected) = (self.column, &self.expected);
        write!(f, "XPath, column {column}: expected {expected}, found ")?;
        if self.found.is_empty() {
            f.write_str("the end")
        } else {
            write!(f, "'{}'", self.found)
        }
    }
}

impl std::error::Error for XPathError {}
