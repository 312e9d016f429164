//! The errors of patterns.

/// A pattern that is not an XSD regular expression, or exceeds a limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pattern, column {column}: {reason}")]
pub struct PatternError {
    /// The position, in characters from 1.
    pub column: usize,
    /// What cannot be translated.
    pub reason: Box<str>,
}

impl PatternError {
    /// An error at the character of this index.
    pub(super) fn at(index: usize, reason: impl Into<Box<str>>) -> Self {
        Self {
            column: index + 1,
            reason: reason.into(),
        }
    }
}
