//! The edits from the selected part of one version to that of another.

use espalier_yang::{ErrorTag, InstancePath, Schema};
use rustc_hash::{FxHashMap, FxHashSet};

use super::scopes::{ChangedScopes, Scope, is_ordered_by_user, whole_list};
use super::siblings::{Comparer, FilteredEdit};
use super::tracked_filter::TrackedFilter;
use crate::error::{Error, Result};
use crate::tree::view::View;

/// The maximum number of nodes of one instance that are compared.
pub const FILTERED_DIFFERENCE_NODES_MAX: usize = 250_000;

/// The difference of what a filter selects of two versions.
#[derive(Debug)]
pub enum FilteredDifference {
    /// The edits that lead from one to the other, in the order in which they apply.
    Edits(Vec<FilteredEdit>),
    /// It cannot be expressed: an instance has more than [`FILTERED_DIFFERENCE_NODES_MAX`] nodes, or top-level entries that
    /// no path can name changed.
    Unavailable,
}

impl ChangedScopes<'_> {
    /// The difference between two views, whose access rules apply. The changes between their versions must have been added.
    ///
    /// # Errors
    /// Those of the filter and of the engine; `operation-failed` if a view has another schema than the filter.
    pub fn difference(&self, before: &View, after: &View) -> Result<FilteredDifference> {
        let filter = self.filter();
        filter.check(before)?;
        filter.check(after)?;
        let mut reads = Reads {
            filter,
            views: [before, after],
            visible: FxHashMap::default(),
        };
        let compared = match self.is_everything() {
            true => compare(&reads, &[InstancePath::root()]),
            false => {
                let scopes = self.scopes().iter();
                let paths = scopes.map(|scope| reads.resolve(scope));
                let paths = paths.collect::<Result<Vec<_>>>();
                paths.and_then(|paths| {
                    let paths: Vec<_> = paths.into_iter().flatten().collect();
                    compare(&reads, &outermost(paths))
                })
            }
        };
        match compared {
            Ok(Some(edits)) => Ok(FilteredDifference::Edits(edits)),
            Ok(None) => Ok(FilteredDifference::Unavailable),
            Err(error) if is_too_big(&error) => Ok(FilteredDifference::Unavailable),
            Err(error) => Err(error),
        }
    }
}

/// The paths that are not within others, in their order.
fn outermost(paths: Vec<InstancePath>) -> Vec<InstancePath> {
    let all: FxHashSet<InstancePath> = paths.iter().cloned().collect();
    let is_within = |path: &InstancePath| {
        let mut outer = InstancePath::root();
        path.steps.iter().any(|step| {
            outer.steps.push(step.clone());
            let list = whole_list(&outer);
            (outer != *path && all.contains(&outer)) || (list != *path && all.contains(&list))
        })
    };
    let mut seen = FxHashSet::default();
    let paths = paths.into_iter();
    paths
        .filter(|path| !is_within(path) && seen.insert(path.clone()))
        .collect()
}

/// The edits between the selected parts at some paths; `None` if they cannot be expressed.
fn compare(reads: &Reads<'_>, paths: &[InstancePath]) -> Result<Option<Vec<FilteredEdit>>> {
    let mut comparer = Comparer::new(reads.filter.schema());
    for path in paths {
        let [before, after] = reads.views.map(|view| {
            let nodes_max = FILTERED_DIFFERENCE_NODES_MAX;
            reads.filter.nodes_at(view, path, nodes_max)
        });
        let parent = path.parent().unwrap_or_default();
        if comparer.siblings(&parent, &before?, &after?).is_err() {
            return Ok(None);
        }
    }
    Ok(Some(comparer.edits))
}

fn is_too_big(error: &Error) -> bool {
    match error {
        Error::Data(errors) => errors.iter().any(|error| error.tag == ErrorTag::TooBig),
        _ => false,
    }
}

/// Reads of two views.
struct Reads<'a> {
    filter: &'a TrackedFilter,
    /// Before and after.
    views: [&'a View; 2],
    /// Whether something is selected at a path, before and after.
    visible: FxHashMap<InstancePath, [bool; 2]>,
}

impl Reads<'_> {
    /// The path whose selected part is compared: that of a scope, or of an instance around it that is selected in one of
    /// the views only; `None` if nothing of it is selected.
    fn resolve(&mut self, scope: &Scope) -> Result<Option<InstancePath>> {
        let schema = self.filter.schema();
        // What the rules show of an instance can depend on what is below it.
        let has_rules = self.views.iter().any(|view| view.access.is_some());
        let passages = match has_rules {
            true => scope.path.steps.len().saturating_sub(1),
            false => scope.passages,
        };
        let mut path = InstancePath::root();
        for (index, step) in scope.path.steps.iter().enumerate() {
            path.steps.push(step.clone());
            if index >= passages || schema.node(step.node).is_np_container() {
                continue;
            }
            match self.visible(&path)? {
                [true, true] => {}
                [false, false] => return Ok(None),
                [true, false] => return Ok(Some(path)),
                [false, true] => return Ok(Some(placed(schema, path))),
            }
        }
        let has_order = |node| is_ordered_by_user(schema, node);
        let is_placed = path.target().is_some_and(has_order)
            && (scope.is_moved || self.visible(&path)? == [false, true]);
        Ok(Some(match is_placed {
            true => placed(schema, path),
            false => path,
        }))
    }

    fn visible(&mut self, path: &InstancePath) -> Result<[bool; 2]> {
        if let Some(known) = self.visible.get(path) {
            return Ok(*known);
        }
        let [before, after] = self.views;
        let visible = [
            self.filter.selects_at(before, path)?,
            self.filter.selects_at(after, path)?,
        ];
        self.visible.insert(path.clone(), visible);
        Ok(visible)
    }
}

/// The path of the whole list of an entry, if the list is ordered by user: the place of the entry depends on the others.
fn placed(schema: &Schema, path: InstancePath) -> InstancePath {
    let has_order = |node| is_ordered_by_user(schema, node);
    match path.target().is_some_and(has_order) {
        true => whole_list(&path),
        false => path,
    }
}
