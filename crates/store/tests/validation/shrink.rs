//! Shrinks an edit with different verdicts of the store and libyang.

use espalier_testkit::random_schemas::GeneratedSchema;
use espalier_yang::Schema;
use espalier_yang::data::{Content, DataNode, DataTree};

use crate::compare::{CommitMethod, Trial};
use crate::edit::Change;
use crate::fixture::{Fixture, commit, open};
use crate::run::{Depth, compare};

/// The maximum number of smaller trials.
const TRIALS_MAX: usize = 3_000;

/// A failing trial, and its failure.
pub struct Failure {
    pub fixture: Fixture,
    pub trial: Trial,
    pub what: String,
}

/// Makes a trial smaller as long as it fails on a new store; unchanged if it does not fail there.
pub fn shrink(fixture: Fixture, trial: Trial, what: String) -> Failure {
    let mut failure = Failure {
        fixture,
        trial,
        what,
    };
    let fresh = run(
        &failure.fixture,
        failure.trial.before.clone(),
        failure.trial.changes.clone(),
        failure.trial.method,
    );
    let Some((trial, what)) = fresh else {
        failure
            .what
            .push_str("\n(only with the history before it, so it is not made smaller)");
        return failure;
    };
    (failure.trial, failure.what) = (trial, what);
    let mut trials = 0;
    while trials < TRIALS_MAX
        && (shrink_edit(&mut failure, &mut trials) || shrink_schema(&mut failure, &mut trials))
    {
    }
    failure
}

/// Runs the same trial on a new store; returns the failure, if any.
fn run(
    fixture: &Fixture,
    before: DataTree,
    changes: Vec<Change>,
    method: CommitMethod,
) -> Option<(Trial, String)> {
    let start = Trial::new(
        fixture,
        DataTree::default(),
        vec![Change::ReplaceAll(before.clone())],
        CommitMethod::Commit,
    );
    if !start.is_valid() {
        return None;
    }
    let tree = open(&fixture.source);
    if !before.nodes.is_empty() {
        commit(&tree, &[Change::ReplaceAll(before.clone()).to_edit()]).ok()?;
    }
    let trial = Trial::new(fixture, before, changes, method);
    let what = compare(fixture, &trial, &tree, Depth::Stored).err()?;
    Some((trial, what))
}

/// Tries all ways to make the changes or the tree smaller; returns whether one succeeded.
fn shrink_edit(failure: &mut Failure, trials: &mut usize) -> bool {
    let mut candidates: Vec<(DataTree, Vec<Change>)> = Vec::new();
    let schema = &failure.fixture.schema;
    let (before, changes) = (&failure.trial.before, &failure.trial.changes);
    for index in 0..changes.len() {
        let mut fewer = changes.clone();
        fewer.remove(index);
        if !fewer.is_empty() {
            candidates.push((before.clone(), fewer));
        }
    }
    for index in 0..changes.len() {
        let (Change::Tree(_, tree, _) | Change::ReplaceAll(tree)) = &changes[index] else {
            continue;
        };
        for smaller in smaller(schema, &tree.nodes) {
            let mut fewer = changes.clone();
            match &mut fewer[index] {
                Change::Tree(_, tree, _) | Change::ReplaceAll(tree) => tree.nodes = smaller,
                _ => {}
            }
            candidates.push((before.clone(), fewer));
        }
    }
    for nodes in smaller(schema, &before.nodes) {
        candidates.push((DataTree { nodes }, changes.clone()));
    }
    for (before, changes) in candidates {
        *trials += 1;
        if let Some((trial, what)) = run(&failure.fixture, before, changes, failure.trial.method) {
            (failure.trial, failure.what) = (trial, what);
            return true;
        }
    }
    false
}

/// Tries to remove each constraint from the schema; returns whether it fails without one.
fn shrink_schema(failure: &mut Failure, trials: &mut usize) -> bool {
    let generated = failure.fixture.generated.as_ref();
    for simpler in generated.map_or(Vec::new(), GeneratedSchema::simpler) {
        *trials += 1;
        let Ok(fixture) = Fixture::of(simpler) else {
            continue;
        };
        let (before, changes) = (failure.trial.before.clone(), failure.trial.changes.clone());
        if let Some((trial, what)) = run(&fixture, before, changes, failure.trial.method) {
            (failure.fixture, failure.trial, failure.what) = (fixture, trial, what);
            return true;
        }
    }
    false
}

/// The nodes without one of them, for each node; larger subtrees first. Keys are kept.
fn smaller(schema: &Schema, nodes: &[DataNode]) -> Vec<Vec<DataNode>> {
    let is_key = |data: &DataNode| {
        let leaf = schema.node(data.node).as_value();
        leaf.is_some_and(|leaf| leaf.is_key)
    };
    let mut all = Vec::new();
    for index in (0..nodes.len()).filter(|&index| !is_key(&nodes[index])) {
        let mut fewer = nodes.to_vec();
        fewer.remove(index);
        all.push(fewer);
    }
    for index in 0..nodes.len() {
        for children in smaller(schema, nodes[index].children()) {
            let mut fewer = nodes.to_vec();
            fewer[index].content = Content::Inner(children);
            all.push(fewer);
        }
    }
    all
}
