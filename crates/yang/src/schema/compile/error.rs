//! The errors of models, with their positions.

use std::fmt;

/// One error in a set of modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    /// The file of the module or submodule: its name, with `@` and the revision if it has one. Empty if the error
    /// belongs to no module.
    pub module: String,
    /// The line, from 1; 0 if unknown.
    pub line: u32,
    /// The schema node, as in `/module:container/leaf`; empty if there is none.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.module.is_empty() {
            write!(f, "{}.yang:", self.module)?;
            if self.line > 0 {
                write!(f, "{}:", self.line)?;
            }
            f.write_str(" ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for SchemaError {}

/// All errors of a set of modules; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaErrors {
    errors: Vec<SchemaError>,
}

impl SchemaErrors {
    pub(super) fn new(errors: Vec<SchemaError>) -> Self {
        Self { errors }
    }

    pub(super) fn into_vec(self) -> Vec<SchemaError> {
        self.errors
    }

    /// The errors, in the order in which they were found.
    pub fn iter(&self) -> std::slice::Iter<'_, SchemaError> {
        self.errors.iter()
    }

    /// The number of errors.
    pub fn len(&self) -> usize {
        self.errors.len()
    }

    /// Returns whether there are no errors (always false).
    pub fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }
}

impl fmt::Display for SchemaErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SchemaErrors {}
