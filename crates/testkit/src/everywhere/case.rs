//! Cases: sequences of operations on the fixture.

use super::operation::{Operation, Request};

/// Operations that run one after another, beginning with the fixture.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name.
    pub name: &'static str,
    /// The steps.
    pub steps: Vec<Step>,
}

/// An operation with the expected kind of outcome.
#[derive(Clone, Debug)]
pub struct Step {
    /// The request.
    pub request: Request,
    /// The expected kind of outcome.
    pub expected: Expected,
}

/// The kind of an outcome. The details are compared between front ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Success.
    Success,
    /// This number of events.
    Events(usize),
    /// A read that finds nothing.
    Missing,
    /// A failure whose first error has this tag.
    Error(&'static str),
}

impl Case {
    /// A case without steps.
    pub fn new(name: &'static str) -> Self {
        let steps = Vec::new();
        Self { name, steps }
    }

    /// Adds an operation that succeeds.
    #[must_use]
    pub fn ok(self, request: impl Into<Request>) -> Self {
        self.step(request, Expected::Success)
    }

    /// Adds an operation that receives a number of events.
    #[must_use]
    pub fn receives(self, count: usize, request: impl Into<Request>) -> Self {
        self.step(request, Expected::Events(count))
    }

    /// Adds a read that finds nothing.
    #[must_use]
    pub fn missing(self, request: impl Into<Request>) -> Self {
        self.step(request, Expected::Missing)
    }

    /// Adds an operation that fails with a tag.
    #[must_use]
    pub fn fails(self, tag: &'static str, request: impl Into<Request>) -> Self {
        self.step(request, Expected::Error(tag))
    }

    fn step(mut self, request: impl Into<Request>, expected: Expected) -> Self {
        let request = request.into();
        self.steps.push(Step { request, expected });
        self
    }
}

impl From<Operation> for Request {
    fn from(operation: Operation) -> Self {
        Self {
            operation,
            ..Self::default()
        }
    }
}

impl Request {
    /// The request of a session.
    #[must_use]
    pub fn session(self, session: &'static str) -> Self {
        Self { session, ..self }
    }

    /// The request with an author and a comment.
    #[must_use]
    pub fn by(self, author: &'static str, comment: &'static str) -> Self {
        Self {
            author: Some(author),
            comment: Some(comment),
            ..self
        }
    }
}
