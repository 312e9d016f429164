//! A diff held in memory.

use std::sync::Arc;

use espalier_yang::{DataError, ErrorTag, InstancePath, Schema, Step};

use super::deltas::Comparison;
use super::node_change::{ChangeKind, Content, NodeChange, Point, matches_step};
use super::walk::each_node_change;
use crate::compiled_schema_set::Compiled;
use crate::error::Result;

/// Maximum number of changes of a diff in memory; larger diffs are streamed.
pub const DIFF_CHANGES_MAX: usize = 2_000_000;

/// The nodes that differ between two states, in document order. A path is stored once for all nodes below
/// it.
#[derive(Clone, Debug)]
pub struct Diff {
    compiled: Arc<Compiled>,
    steps: Vec<PathStep>,
    changes: Vec<StoredChange>,
}

/// A step of a path, linked to the previous one.
#[derive(Clone, Debug)]
struct PathStep {
    before: Option<u32>,
    step: Step,
}

#[derive(Clone, Debug)]
struct StoredChange {
    /// The last step; none for the datastore itself.
    path: Option<u32>,
    kind: ChangeKind,
    is_nested: bool,
    old: Option<Content>,
    new: Option<Content>,
    after: Option<Box<Point>>,
}

impl Diff {
    /// The difference between the states of a comparison.
    pub(crate) fn of(compiled: &Arc<Compiled>, comparison: Comparison<'_>) -> Result<Self> {
        let mut builder = DiffBuilder::new(compiled);
        each_node_change(comparison, &mut |change| builder.push(change))?;
        Ok(builder.finish())
    }

    /// The schema of the paths.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.compiled.schema
    }

    /// The number of changed nodes.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The changes, in document order.
    pub fn changes(&self) -> impl Iterator<Item = NodeChange> + '_ {
        self.changes.iter().map(|stored| NodeChange {
            path: self.path(stored.path),
            kind: stored.kind,
            is_nested: stored.is_nested,
            old: stored.old.clone(),
            new: stored.new.clone(),
            after: stored.after.as_deref().cloned(),
        })
    }

    /// The changes of a node and its descendants; for a list without keys, of every entry.
    pub fn below<'d>(&'d self, path: &'d InstancePath) -> impl Iterator<Item = NodeChange> + 'd {
        self.changes().filter(|change| change.is_below(path))
    }

    /// Whether a node at or below one of these paths changed.
    pub fn touches(&self, paths: &[InstancePath]) -> bool {
        let mut steps: Vec<&Step> = Vec::new();
        self.changes.iter().any(|stored| {
            steps.clear();
            steps.extend(self.links(stored.path).map(|link| &link.step));
            steps.reverse();
            paths.iter().any(|path| is_at_or_below(path, &steps))
        })
    }

    fn links(&self, last: Option<u32>) -> impl Iterator<Item = &PathStep> {
        let last = last.map(|at| &self.steps[at as usize]);
        std::iter::successors(last, |link| link.before.map(|at| &self.steps[at as usize]))
    }

    fn path(&self, last: Option<u32>) -> InstancePath {
        let mut steps: Vec<Step> = self.links(last).map(|link| link.step.clone()).collect();
        steps.reverse();
        InstancePath { steps }
    }
}

/// Whether steps lead to or through a path. A step of the path without keys matches every entry.
fn is_at_or_below(path: &InstancePath, steps: &[&Step]) -> bool {
    let mut both = path.steps.iter().zip(steps);
    path.steps.len() <= steps.len() && both.all(|(outer, step)| matches_step(outer, step))
}

/// Collects a diff.
struct DiffBuilder {
    diff: Diff,
    /// The steps of the last change's path.
    last: Vec<u32>,
}

impl DiffBuilder {
    fn new(compiled: &Arc<Compiled>) -> Self {
        Self {
            diff: Diff {
                compiled: Arc::clone(compiled),
                steps: Vec::new(),
                changes: Vec::new(),
            },
            last: Vec::new(),
        }
    }

    /// Adds a change, moving its contents.
    ///
    /// # Errors
    /// `too-big` beyond [`DIFF_CHANGES_MAX`].
    fn push(&mut self, change: &mut NodeChange) -> Result<()> {
        if self.diff.changes.len() == DIFF_CHANGES_MAX {
            let message = format!("more than {DIFF_CHANGES_MAX} changes (DIFF_CHANGES_MAX)");
            return Err(DataError::new(ErrorTag::TooBig, message).into());
        }
        let steps = &change.path.steps;
        let shared = self.last.iter().zip(steps);
        let shared = shared.take_while(|(at, step)| self.diff.steps[**at as usize].step == **step);
        let shared = shared.count();
        self.last.truncate(shared);
        for step in &steps[shared..] {
            self.diff.steps.push(PathStep {
                before: self.last.last().copied(),
                step: step.clone(),
            });
            self.last.push(self.diff.steps.len() as u32 - 1);
        }
        self.diff.changes.push(StoredChange {
            path: self.last.last().copied(),
            kind: change.kind,
            is_nested: change.is_nested,
            old: change.old.take(),
            new: change.new.take(),
            after: change.after.take().map(Box::new),
        });
        Ok(())
    }

    fn finish(self) -> Diff {
        self.diff
    }
}
