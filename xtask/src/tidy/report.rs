//! The problems that the rules found.

use std::fmt;
use std::path::PathBuf;

/// A broken rule and its location.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The file, relative to the root of the repository.
    pub file: PathBuf,
    /// The line number, from 1.
    pub line: usize,
    /// The problem and what to do.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.message)
    }
}

/// The result of one run of tidy.
#[derive(Debug, Default)]
pub struct Report {
    /// The broken rules.
    pub problems: Vec<Problem>,
    /// The number of files checked.
    pub files: usize,
    /// The length of every function.
    pub function_lines: Vec<usize>,
}

impl Report {
    /// Adds a problem.
    pub fn add(&mut self, file: impl Into<PathBuf>, line: usize, message: impl Into<String>) {
        self.problems.push(Problem {
            file: file.into(),
            line,
            message: message.into(),
        });
    }

    /// The median of the function lengths.
    pub fn median_function_lines(&self) -> usize {
        let mut lines = self.function_lines.clone();
        lines.sort_unstable();
        lines.get(lines.len() / 2).copied().unwrap_or(0)
    }
}
