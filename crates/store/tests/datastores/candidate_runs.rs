//! Random edits of a candidate, compared with a copy of running that gets the same edits.

use std::sync::Arc;

use espalier_keyspace::Driver;
use espalier_store::{CommitOptions, Datastore, LoadMode, Tree};
use espalier_testkit::seed;
use espalier_yang::data::DataTree;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::edit::{Change, apply};
use crate::fixture::{
    MODEL, assert_same, assert_sound, commit, first_tag, load_tree, open_tree, read_all,
};
use crate::generate::Generator;

/// The default number of steps in a run.
const STEPS: u64 = 600;

fn steps() -> u64 {
    seed::number_from_environment("ESPALIER_OPERATIONS").unwrap_or(STEPS)
}

#[test]
fn random_candidates_in_memory() {
    seed::run("random candidates in memory", |random| {
        let driver = espalier_drivers::open("memory:").unwrap();
        // Two stores on one engine, like two processes.
        Run::new(random, 2, &|| Arc::clone(&driver)).go(steps());
    });
}

#[test]
fn random_candidates_in_an_embedded_store_that_is_reopened() {
    seed::run("random candidates in an embedded store", |random| {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("embedded:{}?durability=relaxed", directory.path().display());
        Run::new(random, 1, &|| espalier_drivers::open(&url).unwrap()).go(steps() / 3);
    });
}

struct Run<'a> {
    random: &'a mut StdRng,
    open: &'a dyn Fn() -> Arc<dyn Driver>,
    stores: usize,
    /// Running and the candidate, in each of the stores.
    trees: Vec<(Tree, Tree)>,
    running: DataTree,
    candidate: DataTree,
}

impl<'a> Run<'a> {
    fn new(random: &'a mut StdRng, stores: usize, open: &'a dyn Fn() -> Arc<dyn Driver>) -> Self {
        let mut run = Self {
            random,
            open,
            stores,
            trees: Vec::new(),
            running: DataTree::default(),
            candidate: DataTree::default(),
        };
        run.reopen();
        run
    }

    fn reopen(&mut self) {
        self.trees.clear();
        for _ in 0..self.stores {
            let running = open_tree((self.open)(), MODEL);
            let candidate = running.sibling_datastore(Datastore::Candidate, "").unwrap();
            self.trees.push((running, candidate));
        }
    }

    fn trees(&mut self) -> (Tree, Tree) {
        self.trees
            .choose(self.random)
            .cloned()
            .expect("they are open")
    }

    fn go(mut self, steps: u64) {
        for number in 1..=steps {
            match self.random.random_range(0..24) {
                0 => self.load(),
                1 => self.commit(),
                2 => self.discard(),
                3 if number % 4 == 0 => self.reopen(),
                4 => self.edit_running(),
                _ => self.edit(),
            }
            let (running, candidate) = self.trees();
            let schema = Arc::clone(running.schema());
            assert_same(&schema, &read_all(&running), &self.running, "running");
            assert_same(&schema, &read_all(&candidate), &self.candidate, "candidate");
            if number % 16 == 0 {
                assert_sound(running.store());
            }
        }
    }

    fn changes(&mut self, on: &DataTree) -> Vec<Change> {
        let (running, _) = self.trees();
        let count = *[1, 1, 2, 3].choose(self.random).unwrap();
        let mut state = on.clone();
        let mut changes = Vec::new();
        for _ in 0..count {
            let mut generator = Generator {
                schema: running.schema(),
                random: self.random,
            };
            let change = generator.change(&state);
            let _ = apply(running.schema(), &mut state, std::slice::from_ref(&change));
            changes.push(change);
        }
        changes
    }

    fn edit(&mut self) {
        let changes = self.changes(&self.candidate.clone());
        let (_, candidate) = self.trees();
        let mut expected = self.candidate.clone();
        let verdict = apply(candidate.schema(), &mut expected, &changes);
        let edits: Vec<_> = changes.iter().map(Change::to_edit).collect();
        let result = commit(&candidate, &edits);
        assert_eq!(first_tag(&result), verdict.err(), "{changes:?}");
        if verdict.is_ok() {
            self.candidate = expected;
        }
    }

    /// Where the candidate has no changes, it follows running.
    fn edit_running(&mut self) {
        let (running, candidate) = self.trees();
        if candidate.has_changes().unwrap() {
            return;
        }
        let changes = self.changes(&self.running.clone());
        let mut expected = self.running.clone();
        let verdict = apply(running.schema(), &mut expected, &changes);
        let edits: Vec<_> = changes.iter().map(Change::to_edit).collect();
        let result = commit(&running, &edits);
        assert_eq!(first_tag(&result), verdict.err(), "{changes:?}");
        if verdict.is_ok() {
            self.running = expected.clone();
            self.candidate = expected;
        }
    }

    fn load(&mut self) {
        let (_, candidate) = self.trees();
        let mut generator = Generator {
            schema: candidate.schema(),
            random: self.random,
        };
        let document = generator.document();
        load_tree(&candidate, LoadMode::Replace, &document).unwrap();
        self.candidate = read_all(&candidate);
        let mut expected = DataTree::default();
        let change = Change::ReplaceAll(document);
        let _ = apply(candidate.schema(), &mut expected, &[change]);
        assert_same(candidate.schema(), &self.candidate, &expected, "the load");
    }

    fn commit(&mut self) {
        let (_, candidate) = self.trees();
        candidate
            .commit_candidate(CommitOptions::default())
            .unwrap();
        self.running = self.candidate.clone();
    }

    fn discard(&mut self) {
        let (_, candidate) = self.trees();
        candidate.discard(CommitOptions::default()).unwrap();
        self.candidate = self.running.clone();
    }
}
