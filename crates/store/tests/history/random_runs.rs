//! Random commits: each earlier state is the one that the model had, each diff leads from one state to
//! another, and a rollback restores the old state.

use std::collections::BTreeMap;
use std::sync::Arc;

use espalier_store::{CommitOptions, LoadMode, NodeChange, Selection, Tree};
use espalier_testkit::seed;
use espalier_yang::data::DataTree;
use espalier_yang::{InstancePath, Schema};
use rand::Rng;
use rand::rngs::StdRng;

use crate::apply::applied;
use crate::edit::{Change, apply};
use crate::fixture::{
    MODEL, assert_same, assert_sound, commit, load_tree, memory_tree, read, read_all, show,
};
use crate::generate::Generator;
use crate::stamps;

/// The default number of commits in a run.
const COMMITS: u64 = 400;

/// Resources by their names, with their paths and content.
type Resources = BTreeMap<String, (InstancePath, DataTree)>;

struct Run<'a> {
    random: &'a mut StdRng,
    tree: Tree,
    schema: Arc<Schema>,
    /// The state at each version.
    states: Vec<DataTree>,
}

#[test]
fn earlier_states_diffs_and_rollbacks() {
    seed::run("history of random commits", |random| {
        let tree = memory_tree(MODEL);
        let schema = Arc::clone(tree.schema());
        let mut run = Run {
            random,
            tree,
            schema,
            states: vec![DataTree::default()],
        };
        let commits = seed::number_from_environment("ESPALIER_OPERATIONS").unwrap_or(COMMITS);
        for number in 0..commits {
            match run.random.random_range(0..20) {
                0 => run.load(),
                1 => run.roll_back(),
                _ => run.commit(),
            }
            run.compare_diffs();
            if number % 8 == 0 {
                run.compare_states();
                assert_sound(run.tree.store());
            }
        }
    });
}

impl Run<'_> {
    fn newest(&self) -> &DataTree {
        self.states.last().expect("a state")
    }

    fn follow(&mut self, version: u64, state: DataTree) {
        if version as usize == self.states.len() {
            self.states.push(state);
        }
        assert_eq!(version as usize, self.states.len() - 1);
    }

    fn commit(&mut self) {
        let mut state = self.newest().clone();
        let mut changes: Vec<Change> = Vec::new();
        for _ in 0..self.random.random_range(1..4) {
            let mut generator = Generator {
                schema: &self.schema,
                random: self.random,
            };
            let change = generator.change(&state);
            if apply(&self.schema, &mut state, std::slice::from_ref(&change)).is_ok() {
                changes.push(change);
            }
        }
        let edits: Vec<_> = changes.iter().map(Change::to_edit).collect();
        let made = commit(&self.tree, &edits).unwrap_or_else(|error| panic!("{error}"));
        self.follow(made.version, state);
    }

    fn load(&mut self) {
        let mut generator = Generator {
            schema: &self.schema,
            random: self.random,
        };
        let document = generator.document();
        let mut state = DataTree::default();
        let replace = Change::ReplaceAll(document.clone());
        apply(&self.schema, &mut state, &[replace]).unwrap();
        let report = load_tree(&self.tree, LoadMode::Replace, &document).unwrap();
        self.follow(report.commit.version, state);
    }

    fn some_version(&mut self) -> u64 {
        let last = self.states.len() as u64 - 1;
        match self.random.random_ratio(1, 2) {
            true => self.random.random_range(last.saturating_sub(4)..=last),
            false => self.random.random_range(0..=last),
        }
    }

    fn roll_back(&mut self) {
        let version = self.some_version();
        let options = CommitOptions {
            author: "tester",
            comment: "back",
            ..CommitOptions::default()
        };
        let before = self.states.len() as u64 - 1;
        let old = stamps::resources(&self.schema, self.newest());
        let made = self.tree.rollback(version, options).unwrap();
        let state = self.states[version as usize].clone();
        assert_same(&self.schema, &read_all(&self.tree), &state, "rolled back");
        if made.is_changed {
            let newest = &self.tree.history(None, 1).unwrap()[0];
            let newest_commit = (newest.version, &*newest.author, &*newest.comment);
            assert_eq!(newest_commit, (before + 1, "tester", "back"));
            self.compare_stamps(&old, &state, made.version);
        }
        self.follow(made.version, state);
    }

    /// Changed resources have the stamp of the version.
    fn compare_stamps(&self, old: &Resources, state: &DataTree, version: u64) {
        let view = self.tree.view().unwrap();
        for (name, (path, content)) in stamps::resources(&self.schema, state) {
            let before = old.get(&name);
            let is_same = before.is_some_and(|(_, old)| old.is_equivalent(&content, &self.schema));
            let stamp = view.stamp(&path).unwrap();
            assert!(is_same || stamp.version == version, "{name} {stamp:?}");
        }
    }

    fn compare_diffs(&mut self) {
        let last = self.states.len() as u64 - 1;
        self.compare_diff(last.saturating_sub(1), last);
        let (a, b) = (self.some_version(), self.some_version());
        self.compare_diff(a, b);
    }

    fn compare_diff(&mut self, a: u64, b: u64) {
        let diff = self.tree.diff(a, b).unwrap();
        let mut streamed: Vec<NodeChange> = Vec::new();
        let mut visit = |_: &Arc<Schema>, change: &NodeChange| {
            streamed.push(change.clone());
            Ok(())
        };
        self.tree.each_difference(a, b, &mut visit).unwrap();
        let (from, to) = (&self.states[a as usize], &self.states[b as usize]);
        let what = || {
            let from = show(&self.schema, from);
            format!("{a} to {b}: {streamed:#?}\non {from}")
        };
        assert!(diff.changes().eq(streamed.iter().cloned()), "{}", what());
        let found = applied(&self.schema, from, &diff);
        assert_same(&self.schema, &found, to, &what());
    }

    fn compare_states(&mut self) {
        for _ in 0..6 {
            let version = self.some_version();
            let view = self.tree.at(version).unwrap();
            let root = InstancePath::root();
            let found = read(&view, &root, &Selection::default()).unwrap();
            let expected = &self.states[version as usize];
            assert_same(&self.schema, &found, expected, &format!("at {version}"));
            assert_eq!(view.version().unwrap(), version);
        }
    }
}
