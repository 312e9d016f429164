//! The limits on the work of one evaluation.

use std::cell::Cell;

use crate::error::{DataError, ErrorTag};

/// The default number of nodes that one evaluation may visit.
pub const STEPS_MAX: u64 = 10_000_000;

/// The default nesting depth of predicates, `deref()` and the `when`s that an expression depends on. It stops a `when`
/// that depends on itself.
pub const DEPTH_MAX: u32 = 150;

/// The limits of one evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of visited nodes.
    pub steps_max: u64,
    /// The maximum nesting depth.
    pub depth_max: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps_max: STEPS_MAX,
            depth_max: DEPTH_MAX,
        }
    }
}

/// The consumption of the limits.
#[derive(Debug)]
pub(super) struct Budget {
    limits: Limits,
    steps: Cell<u64>,
    /// The steps of the previous evaluations.
    visits: Cell<u64>,
    depth: Cell<u32>,
}

impl Budget {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            steps: Cell::new(0),
            visits: Cell::new(0),
            depth: Cell::new(0),
        }
    }

    /// Runs an evaluation, with its own budget unless it is nested in another.
    pub(super) fn run<R, E: From<DataError>>(
        &self,
        act: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, E> {
        if self.depth.get() == 0 {
            self.visits.set(self.visits.get() + self.steps.replace(0));
        }
        self.nested(act)
    }

    /// Counts visited nodes.
    pub(super) fn step(&self, count: u64) -> Result<(), DataError> {
        let steps = self.steps.get().saturating_add(count);
        self.steps.set(steps);
        if steps > self.limits.steps_max {
            let most = self.limits.steps_max;
            let message = format!("an XPath expression visits more than {most} nodes (STEPS_MAX)");
            return Err(DataError::new(ErrorTag::ResourceDenied, message));
        }
        Ok(())
    }

    /// The number of visited nodes.
    pub(super) fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// The number of nodes visited by all evaluations; resets the number.
    pub(super) fn take_visits(&self) -> u64 {
        self.visits.replace(0) + self.steps.replace(0)
    }

    /// Runs `act` one level deeper.
    pub(super) fn nested<R, E: From<DataError>>(
        &self,
        act: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, E> {
        let depth = self.depth.get();
        if depth >= self.limits.depth_max {
            let most = self.limits.depth_max;
            let message = format!("an XPath expression is nested deeper than {most} (DEPTH_MAX)");
            return Err(DataError::new(ErrorTag::ResourceDenied, message).into());
        }
        self.depth.set(depth + 1);
        let result = act();
        self.depth.set(depth);
        result
    }
}
