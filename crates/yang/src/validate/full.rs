//! Validation of a whole tree: every rule at every place.

use std::ops::ControlFlow;

use super::checker::Checker;
use super::incremental::Effort;
use super::plan::Plan;
use crate::error::Errors;
use crate::instances::Instances;
use crate::schema::{NodeId, NodeKind};
use crate::xpath::evaluate::{Limits, Scope};

/// Entries of a list that one worker takes in a row.
const ENTRIES_IN_A_ROW: u64 = 64;

/// The part of a whole validation that one of several workers does: of the outermost lists, every
/// so many entries.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Which worker, from 0.
    pub worker: u64,
    /// How many workers there are.
    pub workers: u64,
}

impl Share {
    /// Everything.
    pub const ALL: Self = Self {
        worker: 0,
        workers: 1,
    };

    fn takes(self, index: u64) -> bool {
        index / ENTRIES_IN_A_ROW % self.workers == self.worker
    }
}

/// Validates a whole tree, or a worker's share of it, from a place (mostly the root) down.
///
/// # Errors
/// What reading the data returns; violations are in the result.
pub fn validate<T: Instances>(
    plan: &Plan,
    data: &T,
    from: &T::Inner,
    limits: Limits,
    share: Share,
) -> Result<Errors, T::Error> {
    let (errors, _) = validate_measured(plan, data, from, limits, share)?;
    Ok(errors)
}

/// The same, with how much was looked at.
///
/// # Errors
/// What reading the data returns; violations are in the result.
pub fn validate_measured<T: Instances>(
    plan: &Plan,
    data: &T,
    from: &T::Inner,
    limits: Limits,
    share: Share,
) -> Result<(Errors, Effort), T::Error> {
    let mut walk = Walk {
        checker: Checker::new(data, plan, limits, Scope::Config),
        share,
        checks: 0,
    };
    walk.place(from, share.workers > 1)?;
    let effort = Effort {
        checks: walk.checks,
        fallbacks: 0,
        visits: walk.checker.evaluator.take_visits(),
    };
    Ok((walk.checker.errors, effort))
}

/// Validates the input or output of an operation, or a notification (RFC 7950 §8.3.1): `data` has
/// it in its place, `from`.
///
/// # Errors
/// What reading the data returns; violations are in the result.
pub fn validate_operation<T: Instances>(
    plan: &Plan,
    data: &T,
    from: &T::Inner,
    limits: Limits,
) -> Result<Errors, T::Error> {
    let mut walk = Walk {
        checker: Checker::new(data, plan, limits, Scope::All),
        share: Share::ALL,
        checks: 0,
    };
    walk.place(from, false)?;
    Ok(walk.checker.errors)
}

struct Walk<'a, T: Instances> {
    checker: Checker<'a, T>,
    share: Share,
    checks: u64,
}

impl<T: Instances> Walk<'_, T> {
    /// Checks a place and everything in it. What is shared, is not in a list yet.
    fn place(&mut self, place: &T::Inner, is_shared: bool) -> Result<(), T::Error> {
        let plan = self.checker.plan;
        let data = self.checker.data;
        let node = data.node(place);
        if !is_shared || self.share.worker == 0 {
            for &rule in plan.anchored(node) {
                self.checks += 1;
                self.checker.check(rule, place, None)?;
            }
        }
        for &child in super::incremental::children(data.schema(), node) {
            if plan.has_rules[child.0 as usize] {
                self.child(place, child, is_shared)?;
            }
        }
        Ok(())
    }

    fn child(&mut self, place: &T::Inner, child: NodeId, is_shared: bool) -> Result<(), T::Error> {
        let data = self.checker.data;
        match &data.schema().node(child).kind {
            NodeKind::List(_) => {
                let mut index = 0;
                data.entries(place, child, &mut |entry| {
                    if !is_shared || self.share.takes(index) {
                        self.place(&entry, false)?;
                    }
                    index += 1;
                    Ok(ControlFlow::Continue(()))
                })
            }
            NodeKind::Container { .. } => match self.checker.evaluator.container(place, child)? {
                Some(container) => self.place(&container, is_shared),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}
