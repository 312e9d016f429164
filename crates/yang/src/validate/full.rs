//! Validation of a whole tree: every rule at every instance.

use std::ops::ControlFlow;

use super::checker::Checker;
use super::incremental::ValidationCost;
use super::plan::ValidationPlan;
use crate::error::Errors;
use crate::instances::Instances;
use crate::schema::{NodeId, NodeKind};
use crate::xpath::evaluate::{Limits, Scope};

/// The number of consecutive list entries that one worker takes.
const ENTRIES_IN_A_ROW: u64 = 64;

/// The share of one worker in a parallel full validation: blocks of entries of the outermost lists.
#[derive(Clone, Copy, Debug)]
pub struct WorkerShare {
    /// The number of this worker, from 0.
    pub worker: u64,
    /// The number of workers.
    pub workers: u64,
}

impl WorkerShare {
    /// The whole tree.
    pub const ALL: Self = Self {
        worker: 0,
        workers: 1,
    };

    fn includes(self, index: u64) -> bool {
        index / ENTRIES_IN_A_ROW % self.workers == self.worker
    }
}

/// Validates a whole tree, or a worker's share of it, from a node (usually the root) down.
///
/// # Errors
/// Read errors; violations are in the result.
pub fn validate<T: Instances>(
    plan: &ValidationPlan,
    data: &T,
    from: &T::Inner,
    limits: Limits,
    share: WorkerShare,
) -> Result<Errors, T::Error> {
    let (errors, _) = validate_measured(plan, data, from, limits, share)?;
    Ok(errors)
}

/// Like [`validate`], and returns how much was checked.
///
/// # Errors
/// Read errors; violations are in the result.
pub fn validate_measured<T: Instances>(
    plan: &ValidationPlan,
    data: &T,
    from: &T::Inner,
    limits: Limits,
    share: WorkerShare,
) -> Result<(Errors, ValidationCost), T::Error> {
    let mut walk = Walk {
        checker: Checker::new(data, plan, limits, Scope::Config),
        share,
        checks: 0,
    };
    walk.place(from, share.workers > 1)?;
    let effort = ValidationCost {
        checks: walk.checks,
        fallbacks: 0,
        visits: walk.checker.evaluator.take_visits(),
    };
    Ok((walk.checker.errors, effort))
}

/// Validates the input or output of an operation, or a notification (RFC 7950 §8.3.1), which `data` contains at `from`.
///
/// # Errors
/// Read errors; violations are in the result.
pub fn validate_operation<T: Instances>(
    plan: &ValidationPlan,
    data: &T,
    from: &T::Inner,
    limits: Limits,
) -> Result<Errors, T::Error> {
    let mut walk = Walk {
        checker: Checker::new(data, plan, limits, Scope::All),
        share: WorkerShare::ALL,
        checks: 0,
    };
    walk.place(from, false)?;
    Ok(walk.checker.errors)
}

struct Walk<'a, T: Instances> {
    checker: Checker<'a, T>,
    share: WorkerShare,
    checks: u64,
}

impl<T: Instances> Walk<'_, T> {
    /// Checks an instance and its descendants. `is_shared`: not inside a list yet, so the work is shared by the
    /// workers.
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
                    if !is_shared || self.share.includes(index) {
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
