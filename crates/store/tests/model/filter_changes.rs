//! The changes of what a filter selects, applied to a copy, compared with filtered reads.

use std::sync::Arc;

use espalier_store::{
    AccessTable, ChangedScopes, Filter, FilterExpression, FilterRoutes, FilteredChange,
    FilteredDifference, FilteredEdit, Point, ReaderAccess, Selection, TrackedFilter, View,
};
use espalier_testkit::seed;
use espalier_yang::data::subtree_filter::SubtreeFilter;
use espalier_yang::data::{Content, DataNode, DataTree, TreeBuilder};
use espalier_yang::{Keys, Schema, Step};
use rand::Rng;
use rustc_hash::FxHashSet;

use crate::access::Run;
use crate::edit::apply;
use crate::filter::xml;
use crate::fixture::{MODEL, assert_same, commit, memory_tree, show};
use crate::reference::prune;

/// The number of trees in a run.
const TREES: u64 = 150;

/// Sets the number of trees.
const TREES_VARIABLE: &str = "ESPALIER_TRACKED_TREES";

/// The number of filters for each tree.
const FILTERS: usize = 12;

/// The number of commits for each tree.
const COMMITS: usize = 12;

/// A filter with a copy of what it selects.
struct Tracked {
    text: String,
    filter: TrackedFilter,
    access: Option<Arc<AccessTable>>,
    rules: String,
    /// Reports changes only of some commits, of several together.
    is_dampened: bool,
    version: u64,
    copy: DataTree,
}

impl Tracked {
    fn reader(&self) -> ReaderAccess {
        match self.access {
            None => ReaderAccess::Unrestricted,
            Some(_) => ReaderAccess::Restricted,
        }
    }

    fn view(&self, run: &Run<'_>, version: u64) -> View {
        let view = run.tree.at(version).unwrap();
        view.with_access(self.access.clone())
    }

    fn read(&self, view: &View) -> DataTree {
        let mut builder = TreeBuilder::new();
        self.filter.read(view, &mut builder).unwrap();
        builder.finish().unwrap()
    }

    /// Updates the copy, and compares it with a filtered read. Returns the number of edits.
    fn update(&mut self, run: &Run<'_>, version: u64) -> usize {
        let mut scopes = ChangedScopes::new(&self.filter, self.reader());
        let changes = run
            .tree
            .each_difference(self.version, version, &mut |_, change| {
                scopes.add(change);
                Ok(())
            });
        changes.unwrap();
        let (before, after) = (self.view(run, self.version), self.view(run, version));
        let (old, expected) = (self.copy.clone(), self.read(&after));
        let what = |edits: &[FilteredEdit]| {
            let show = |tree: &DataTree| show(&run.schema, tree);
            format!(
                "{}\n{}\nfrom {}\nby {edits:#?}",
                self.text,
                self.rules,
                show(&old)
            )
        };
        self.version = version;
        if scopes.is_empty() {
            assert_same(&run.schema, &old, &expected, &what(&[]));
            return 0;
        }
        let edits = match scopes.difference(&before, &after).unwrap() {
            FilteredDifference::Edits(edits) => edits,
            // Top-level entries without keys.
            FilteredDifference::Unavailable => {
                self.copy = expected;
                return 1;
            }
        };
        let mut copy = old.clone();
        for edit in &edits {
            if let Err(problem) = apply_edit(&run.schema, &mut copy, edit) {
                panic!("{problem}: {edit:?}\n{}", what(&edits));
            }
        }
        prune(&run.schema, &mut copy.nodes);
        assert_same(&run.schema, &copy, &expected, &what(&edits));
        self.copy = copy;
        edits.len()
    }
}

/// Applies an edit to a copy, strictly.
fn apply_edit(schema: &Schema, copy: &mut DataTree, edit: &FilteredEdit) -> Result<(), String> {
    let Some((last, parents)) = edit.target.steps.split_last() else {
        return Err("the target is the datastore".to_owned());
    };
    let mut siblings = &mut copy.nodes;
    for step in parents {
        let found = place_of(schema, siblings, step);
        let place = match found {
            Some(place) => place,
            None if schema.node(step.node).is_np_container() => {
                siblings.push(DataNode::new(step.node, Content::Inner(Vec::new())));
                siblings.len() - 1
            }
            None => return Err("a parent is missing".to_owned()),
        };
        let Content::Inner(children) = &mut siblings[place].content else {
            return Err("a leaf is a parent".to_owned());
        };
        siblings = children;
    }
    let found = place_of(schema, siblings, last);
    match (&edit.change, found) {
        (FilteredChange::Create(node), None) => siblings.push(node.clone()),
        (FilteredChange::Delete, Some(place)) => drop(siblings.remove(place)),
        (FilteredChange::Replace(node), Some(place)) => siblings[place] = node.clone(),
        (FilteredChange::Insert(node, point), None) => {
            insert(schema, siblings, node.clone(), point)?;
        }
        (FilteredChange::Move(point), Some(place)) => {
            let node = siblings.remove(place);
            insert(schema, siblings, node, point)?;
        }
        (_, None) => return Err("the target is missing".to_owned()),
        (_, Some(_)) => return Err("the target exists".to_owned()),
    }
    Ok(())
}

fn insert(
    schema: &Schema,
    siblings: &mut Vec<DataNode>,
    node: DataNode,
    point: &Point,
) -> Result<(), String> {
    let place = match point {
        Point::First => siblings.iter().position(|one| one.node == node.node),
        Point::After(keys) => {
            let step = Step {
                node: node.node,
                keys: keys.clone(),
            };
            let place = place_of(schema, siblings, &step);
            Some(place.ok_or("the point is missing")? + 1)
        }
    };
    siblings.insert(place.unwrap_or(siblings.len()), node);
    Ok(())
}

fn place_of(schema: &Schema, siblings: &[DataNode], step: &Step) -> Option<usize> {
    let is_it = |node: &DataNode| {
        node.node == step.node && (step.keys == Keys::None || node.instance(schema) == step.keys)
    };
    siblings.iter().position(is_it)
}

/// A random filter.
fn tracked(run: &mut Run<'_>) -> Tracked {
    let schema = Arc::clone(&run.schema);
    let model = run.model.clone();
    let (text, filter) = match run.random.random_range(0..20) {
        0 => (String::new(), Filter::All),
        1..12 => {
            let elements = run.elements(&model.nodes, None, 0);
            let text = xml(&elements);
            let filter = Filter::Subtree(SubtreeFilter::parse_xml(&text).unwrap());
            (text, filter)
        }
        _ => {
            let text = run.expression(&model);
            let parsed = FilterExpression::parse(&schema, &text, &|prefix| {
                (prefix == Some("x")).then(|| "urn:m".into())
            });
            (text, Filter::XPath(parsed.unwrap()))
        }
    };
    let rules = run.random.random_bool(0.4).then(|| run.rules());
    let filter = TrackedFilter::new(&schema, filter, Selection::default()).unwrap();
    let version = run.tree.view().unwrap().version().unwrap();
    let mut tracked = Tracked {
        text,
        filter,
        access: rules.as_ref().map(|rules| rules.compile(&schema)),
        rules: rules.map(|rules| rules.describe()).unwrap_or_default(),
        is_dampened: run.random.random_bool(0.2),
        version,
        copy: DataTree::default(),
    };
    tracked.copy = tracked.read(&tracked.view(run, version));
    prune(&schema, &mut tracked.copy.nodes);
    tracked
}

fn compare(run: &mut Run<'_>) -> usize {
    let mut all: Vec<Tracked> = (0..FILTERS).map(|_| tracked(run)).collect();
    let mut routes = FilterRoutes::default();
    for (number, one) in all.iter().enumerate() {
        routes.add(&one.filter, one.reader(), number);
    }
    let mut edits = 0;
    for _ in 0..COMMITS {
        let model = run.model.clone();
        let change = run.generator().change(&model);
        let mut next = model;
        if apply(&run.schema, &mut next, std::slice::from_ref(&change)).is_err() {
            continue;
        }
        let made = commit(&run.tree, &[change.to_edit()]).unwrap();
        run.model = next;
        if !made.is_changed {
            continue;
        }
        let mut found = FxHashSet::default();
        let routed = run
            .tree
            .each_difference(made.version - 1, made.version, &mut |_, change| {
                routes.find(&change.path, &mut found);
                Ok(())
            });
        routed.unwrap();
        for (number, one) in all.iter_mut().enumerate() {
            if one.is_dampened && run.random.random_bool(0.7) {
                continue;
            }
            let is_next = one.version + 1 == made.version;
            let count = one.update(run, made.version);
            let is_found = count == 0 || !is_next || found.contains(&number);
            assert!(is_found, "{} is not found for {change:?}", one.text);
            edits += count;
        }
    }
    for (number, one) in all.iter().enumerate() {
        routes.remove(&one.filter, one.reader(), number);
    }
    assert!(routes.is_empty());
    edits
}

#[test]
fn a_copy_with_all_changes_is_what_the_filter_selects() {
    let count = seed::number_from_environment(TREES_VARIABLE).unwrap_or(TREES);
    let mut edits = 0;
    seed::run_each("tracked filters", count, TREES_VARIABLE, |random| {
        let tree = memory_tree(MODEL);
        let mut run = Run {
            random,
            schema: Arc::clone(tree.schema()),
            tree,
            model: DataTree::default(),
        };
        run.change_data();
        edits += compare(&mut run);
    });
    assert!(edits > 0);
}
