//! How much work one evaluation may be.

use std::cell::Cell;

use crate::error::{DataError, ErrorTag};

/// Nodes that one evaluation may visit.
pub const STEPS_MAX: u64 = 10_000_000;

/// How deep predicates, `deref()` and the `when`s that an expression depends on may be nested in one
/// another. A `when` that depends on itself ends here.
pub const DEPTH_MAX: u32 = 150;

/// The limits of one evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Nodes visited, at most.
    pub steps_max: u64,
    /// Levels of nesting, at most.
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

/// What has been used of the limits.
#[derive(Debug)]
pub(super) struct Budget {
    limits: Limits,
    steps: Cell<u64>,
    /// Steps of the evaluations before.
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

    /// An evaluation, with a budget of its own unless it is within another.
    pub(super) fn run<R, E: From<DataError>>(
        &self,
        act: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, E> {
        if self.depth.get() == 0 {
            self.visits.set(self.visits.get() + self.steps.replace(0));
        }
        self.deeper(act)
    }

    /// Visits so many nodes.
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

    /// How many nodes were visited.
    pub(super) fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// How many nodes all evaluations visited, and takes the number back to 0.
    pub(super) fn take_visits(&self) -> u64 {
        self.visits.replace(0) + self.steps.replace(0)
    }

    /// Does something one level deeper.
    pub(super) fn deeper<R, E: From<DataError>>(
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
