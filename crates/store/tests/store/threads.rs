//! Many threads, and several stores over one engine: exact results, guards, conflicts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use espalier_keyspace::Driver;
use espalier_store::{CommitOptions, Datastore, Edit, Error, LoadMode, Selection, Tree, View};
use espalier_yang::InstancePath;

use crate::fixture::{
    MODEL, assert_sound, data, load_json, memory_tree, merge, open_store, open_tree, path, read,
    text,
};

const THREADS: u64 = 8;
const COMMITS: u64 = 40;

fn add(tree: &Tree, thread: u64, number: u64) {
    merge(
        tree,
        &format!(
            r#"{{"m:named":[{{"name":"{thread}-{number}","v":"{number}"}}],"m:turn":["{thread}-{number}"]}}"#
        ),
    );
}

fn count(tree: &Tree, at: &str) -> u64 {
    let view = tree.view().unwrap();
    view.count(&path(tree.schema(), at)).unwrap()
}

/// The entries of each thread are in the order of their creation.
fn assert_order(tree: &Tree) {
    let view = tree.view().unwrap();
    let turns = read(&view, &path(tree.schema(), "/turn"), &Selection::default()).unwrap();
    let mut next = [0; THREADS as usize];
    for turn in &turns.nodes {
        let text = turn.value().unwrap().to_string();
        let (thread, number) = text.split_once('-').unwrap();
        let slot = &mut next[thread.parse::<usize>().unwrap()];
        assert_eq!(number.parse::<u64>().unwrap(), *slot);
        *slot += 1;
    }
    assert_eq!(next, [COMMITS; THREADS as usize]);
}

fn run_threads(trees: &[Tree]) {
    thread::scope(|scope| {
        for number in 0..THREADS {
            let tree = &trees[number as usize % trees.len()];
            scope.spawn(move || (0..COMMITS).for_each(|commit| add(tree, number, commit)));
        }
    });
}

fn check_one(trees: &[Tree]) {
    run_threads(trees);
    let tree = &trees[0];
    assert_eq!(count(tree, "/named"), THREADS * COMMITS);
    assert_order(tree);
    let version = tree.view().unwrap().version().unwrap();
    assert_eq!(version, THREADS * COMMITS);
    assert_sound(tree.store());
}

#[test]
fn threads_that_change_one_tree_lose_nothing() {
    check_one(&[memory_tree(MODEL)]);
    let directory = tempfile::tempdir().unwrap();
    let url = format!("embedded:{}?durability=relaxed", directory.path().display());
    check_one(&[open_tree(espalier_drivers::open(&url).unwrap(), MODEL)]);
}

#[test]
fn stores_on_one_engine_retry_on_conflict() {
    let driver = espalier_drivers::open("memory:").unwrap();
    let trees: Vec<Tree> = (0..2)
        .map(|_| open_tree(Arc::clone(&driver), MODEL))
        .collect();
    check_one(&trees);
}

#[test]
fn threads_that_change_different_trees_do_not_conflict() {
    let first = memory_tree(MODEL);
    let store = first.store().clone();
    let trees: Vec<Tree> = (0..THREADS)
        .map(|number| {
            let name = format!("n{number}");
            store.create_anchor("d", &name, "s").unwrap();
            store.tree("d", &name, Datastore::Running).unwrap()
        })
        .collect();
    run_threads(&trees);
    for tree in &trees {
        assert_eq!(count(tree, "/named"), COMMITS);
        assert_eq!(tree.view().unwrap().version().unwrap(), COMMITS);
    }
    assert_sound(&store);
}

#[test]
fn anchors_created_by_many_threads_all_exist() {
    let store = memory_tree(MODEL).store().clone();
    let other = open_store(Arc::clone(store.driver()));
    thread::scope(|scope| {
        for number in 0..THREADS {
            let store = if number % 2 == 0 { &store } else { &other };
            scope.spawn(move || {
                for anchor in 0..20 {
                    let name = format!("{number}-{anchor}");
                    store.create_anchor("d", &name, "s").unwrap();
                }
            });
        }
    });
    let anchors = store.anchors("d", None, 1000).unwrap();
    assert_eq!(anchors.len() as u64, THREADS * 20 + 1);
    let mut ids: Vec<u64> = anchors.iter().map(|anchor| anchor.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), anchors.len());
}

#[test]
fn a_reader_sees_whole_commits_only() {
    let tree = memory_tree(MODEL);
    merge(&tree, r#"{"m:top":"0","m:present":{"x":"0"}}"#);
    let done = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..300 {
                merge(
                    &tree,
                    &format!(r#"{{"m:top":"{number}","m:present":{{"x":"{number}"}}}}"#),
                );
            }
            done.store(1, Ordering::Release);
        });
        while done.load(Ordering::Acquire) == 0 {
            let found = text(&tree);
            let top = found.split('"').nth(3).unwrap();
            assert_eq!(
                found,
                format!(r#"{{"m:top":"{top}","m:present":{{"x":"{top}"}}}}"#)
            );
        }
    });
}

#[test]
fn a_guard_sees_the_state_that_the_commit_changes() {
    let tree = memory_tree(MODEL);
    merge(&tree, r#"{"m:present":{"x":"a"}}"#);
    let at = path(tree.schema(), "/present");
    let seen = tree.view().unwrap().stamp(&at).unwrap();
    let guard = |view: &View| match view.stamp(&at)? == seen {
        true => Ok(()),
        false => Err(Error::Precondition),
    };
    let options = CommitOptions {
        guard: Some(&guard),
        ..CommitOptions::default()
    };
    let document = data(tree.schema(), r#"{"m:present":{"x":"b"}}"#);
    let edit = [Edit::merge(InstancePath::root(), document)];
    merge(&tree, r#"{"m:top":"other"}"#);
    tree.commit(&edit, options).unwrap();
    merge(&tree, r#"{"m:present":{"x":"c"}}"#);
    let refused = tree.commit(&edit, options);
    assert!(matches!(refused, Err(Error::Precondition)));
    assert!(text(&tree).contains(r#"{"x":"c"}"#));
}

/// Threads increment one leaf, each only from the value that it has read.
#[test]
fn guarded_commits_count_exactly() {
    let driver = espalier_drivers::open("memory:").unwrap();
    let trees: Vec<Tree> = (0..2)
        .map(|_| open_tree(Arc::clone(&driver), MODEL))
        .collect();
    merge(&trees[0], r#"{"m:top":"0"}"#);
    thread::scope(|scope| {
        for number in 0..4 {
            let tree = &trees[number % 2];
            scope.spawn(move || (0..25).for_each(|_| count_up(tree)));
        }
    });
    assert_eq!(text(&trees[0]), r#"{"m:top":"100"}"#);
}

fn count_up(tree: &Tree) {
    loop {
        let view = tree.view().unwrap();
        let version = view.version().unwrap();
        let found = read(&view, &path(tree.schema(), "/top"), &Selection::default()).unwrap();
        let number: u64 = found.nodes[0].value().unwrap().to_string().parse().unwrap();
        drop(view);
        let guard = |view: &View| match view.version()? == version {
            true => Ok(()),
            false => Err(Error::Precondition),
        };
        let document = data(tree.schema(), &format!(r#"{{"m:top":"{}"}}"#, number + 1));
        let options = CommitOptions {
            guard: Some(&guard),
            ..CommitOptions::default()
        };
        match tree.commit(&[Edit::merge(InstancePath::root(), document)], options) {
            Ok(_) => return,
            Err(Error::Precondition) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_load_overtaken_by_another_store_is_rejected_and_can_be_retried() {
    let driver: Arc<dyn Driver> = espalier_drivers::open("memory:").unwrap();
    let (one, two) = (
        open_tree(Arc::clone(&driver), MODEL),
        open_tree(Arc::clone(&driver), MODEL),
    );
    thread::scope(|scope| {
        for (name, tree) in [("one", &one), ("two", &two)] {
            scope.spawn(move || {
                for number in 0..20 {
                    let document = format!(r#"{{"m:named":[{{"name":"{name}{number}"}}]}}"#);
                    loop {
                        match load_json(tree, LoadMode::Merge, &document) {
                            Ok(_) => break,
                            Err(Error::Engine(error)) => {
                                assert_eq!(error.kind(), espalier_keyspace::ErrorKind::Conflict);
                            }
                            Err(error) => panic!("{error}"),
                        }
                    }
                }
            });
        }
    });
    assert_eq!(count(&one, "/named"), 40);
    assert_sound(one.store());
}
