//! Commits of many threads that share writes of the engine: each is made whole or not at all, in order, and fails only
//! by its own fault.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use espalier_keyspace::{Capability, Driver, ErrorKind};
use espalier_store::{
    BegunCommit, CommitOptions, CommitRun, Datastore, Edit, Error, Event, LoadOptions, Retention,
    Selection, Tree,
};
use espalier_testkit::documents::json_document;
use espalier_testkit::fault::{Fault, Faulty, Lasting, Site};
use espalier_testkit::seed;
use espalier_yang::InstancePath;
use espalier_yang::data::{ParseOptions, Root, json};
use rand::Rng;
use rand::rngs::StdRng;

use crate::fixture::{assert_sound, memory_tree, open_store, open_tree, path, read};

const MODEL: &str = "module m { yang-version 1.1; namespace urn:m; prefix m;
  list e { key k; leaf k { type string; } leaf v { type uint32; must '. != 13'; } unique v; }
  leaf last { type string; } }";

const THREADS: u64 = 16;
const COMMITS: u64 = 20;

/// The variable that sets the number of runs with faults.
const RUNS_VARIABLE: &str = "ESPALIER_SHARED_WRITES";

fn slow(commit_ms: u64) -> (Arc<Faulty>, Tree) {
    let memory = espalier_drivers::open("memory:").unwrap();
    // As behind a network: commits can be decided in runs.
    let capability = Capability {
        remote: true,
        ..memory.capability()
    };
    let faulty = Faulty::new(memory).with_capability(capability);
    let faulty = Arc::new(faulty.with_commit_time(Duration::from_millis(commit_ms)));
    let tree = open_tree(Arc::clone(&faulty) as Arc<dyn Driver>, MODEL);
    (faulty, tree)
}

/// The tree as another process has it.
fn of_another_process(driver: Arc<Faulty>) -> Tree {
    let store = open_store(driver);
    store.tree("d", "a", Datastore::Running).unwrap()
}

fn name_of(thread: u64, number: u64) -> String {
    format!("{thread}-{number}")
}

/// Adds an entry; its value is the number of the commit of the thread, times the threads.
fn add(tree: &Tree, thread: u64, number: u64) -> Result<u64, Error> {
    let name = name_of(thread, number);
    let value = 1000 + number * THREADS + thread;
    put(tree, &name, &value.to_string())
}

fn put(tree: &Tree, name: &str, value: &str) -> Result<u64, Error> {
    with_edit(tree, name, value, &mut |edits, options| {
        tree.commit(edits, options).map(|commit| commit.version)
    })
}

/// As [`put`]; the commit is begun and finished.
fn put_begun(tree: &Tree, name: &str, value: &str) -> Result<u64, Error> {
    put_in_run(tree, name, value, None)
}

/// As [`put_begun`], on the snapshot of a run.
fn put_in_run(tree: &Tree, name: &str, value: &str, run: Option<&CommitRun>) -> Result<u64, Error> {
    with_edit(tree, name, value, &mut |edits, options| {
        let begun = tree.begin_commit(edits, options, run);
        let finished = begun.map(|begun| tree.finish_commit(begun));
        match finished.transpose()?.flatten() {
            Some(commit) => Ok(commit.version),
            None => tree.commit(edits, options).map(|commit| commit.version),
        }
    })
}

fn begin(tree: &Tree, name: &str, value: &str) -> Option<BegunCommit> {
    begin_in(None, tree, name, value)
}

fn begin_in(run: Option<&CommitRun>, tree: &Tree, name: &str, value: &str) -> Option<BegunCommit> {
    with_edit(tree, name, value, &mut |edits, options| {
        tree.begin_commit(edits, options, run)
    })
}

fn with_edit<T>(
    tree: &Tree,
    name: &str,
    value: &str,
    act: &mut dyn FnMut(&[Edit], CommitOptions<'_>) -> T,
) -> T {
    let text = format!(r#"{{"m:e":[{{"k":"{name}","v":{value}}}],"m:last":"{name}"}}"#);
    let document = json_document(tree.schema(), &text);
    let options = CommitOptions {
        author: name,
        comment: value,
        ..CommitOptions::default()
    };
    let edit = Edit::merge(InstancePath::root(), document);
    act(&[edit], options)
}

fn keep(tree: &Tree, versions: u64) {
    let retention = Retention {
        versions,
        age: None,
    };
    tree.set_retention(retention).unwrap();
}

/// The next commits delete all versions that exceed the retention, and leave no gap.
fn assert_kept(tree: &Tree, versions: u64) {
    let first = tree.view().unwrap().version().unwrap();
    for number in first..first + 30 {
        put(
            tree,
            &format!("kept-{number}"),
            &(100_000 + number).to_string(),
        )
        .unwrap();
    }
    let commits = tree.history(None, usize::MAX).unwrap();
    let found: Vec<_> = commits.iter().map(|commit| commit.version).collect();
    let last = first + 30;
    let expected = (last.saturating_sub(versions) + 1..=last).rev();
    assert!(found.iter().copied().eq(expected), "{versions}: {found:?}");
    assert_sound(tree.store());
}

fn entries(tree: &Tree) -> u64 {
    let view = tree.view().unwrap();
    view.count(&path(tree.schema(), "/e")).unwrap()
}

/// Runs all threads; returns the name of each commit that was acknowledged, by its version.
fn run_threads(act: &(dyn Fn(u64, u64) -> Option<u64> + Sync)) -> BTreeMap<u64, String> {
    let mut made = BTreeMap::new();
    thread::scope(|scope| {
        let run = |thread| {
            let versions = (0..COMMITS).filter_map(|number| {
                let version = act(thread, number)?;
                Some((version, name_of(thread, number)))
            });
            versions.collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| scope.spawn(move || run(thread)))
            .collect();
        for thread in threads {
            for (version, name) in thread.join().unwrap() {
                let twice = made.insert(version, name);
                assert_eq!(twice, None, "version {version}");
            }
        }
    });
    made
}

/// As [`run_threads`]; the history has each commit, with its own author.
fn run(tree: &Tree, act: &(dyn Fn(u64, u64) -> Option<u64> + Sync)) -> BTreeMap<u64, String> {
    let made = run_threads(act);
    for (version, name) in &made {
        let commit = &tree.history(Some(*version), 1).unwrap()[0];
        assert_eq!((commit.version, &commit.author), (*version, name));
        let then = tree.at(*version).unwrap();
        let last = path(tree.schema(), "/last");
        let last = read(&then, &last, &Selection::default()).unwrap();
        assert_eq!(last.nodes[0].value().unwrap().to_string(), *name);
    }
    made
}

/// Whoever began to receive commits while one was decided, and not written, neither read it nor received it.
#[test]
fn a_commit_that_is_being_written_is_reported_to_queues_that_begin_meanwhile() {
    let tree = memory_tree(MODEL);
    let begun = begin(&tree, "a", "1").expect("begun");
    let events = tree.events(Vec::new()).expect("events");
    assert_eq!(
        tree.view()
            .and_then(|view| view.version())
            .expect("a version"),
        0
    );
    let made = tree.finish_commit(begun).expect("no error");
    assert_eq!(made.map(|commit| commit.version), Some(1));
    match events.take() {
        Some(Event::Lagged(lagged)) => assert_eq!((lagged.first, lagged.last), (1, 1)),
        other => panic!("{other:?}"),
    }
    assert!(events.take().is_none());
}

#[test]
fn commits_share_writes_and_have_versions_of_their_own() {
    let (driver, tree) = slow(2);
    let before = driver.commits();
    let made = run(&tree, &|thread, number| {
        Some(add(&tree, thread, number).unwrap())
    });
    let all = THREADS * COMMITS;
    assert!(made.keys().copied().eq(1..=all));
    assert_eq!(entries(&tree), all);
    let writes = driver.commits() - before;
    assert!(writes < all / 3, "{writes} writes of {all} commits");
    assert_sound(tree.store());
}

/// A commit that is refused does not affect those that are made with it, and is decided on what is made.
#[test]
fn refused_commits_and_those_without_changes_take_back_nothing() {
    let (_, tree) = slow(1);
    put(&tree, "taken", "999").unwrap();
    let made = run(&tree, &|thread, number| match number % 4 {
        // It violates a constraint.
        0 => {
            let refused = put(&tree, &name_of(thread, number), "13");
            assert!(matches!(refused, Err(Error::Data(_))), "{refused:?}");
            None
        }
        // It violates a constraint with another entry.
        1 => {
            let refused = put(&tree, &name_of(thread, number), "999");
            assert!(matches!(refused, Err(Error::Data(_))), "{refused:?}");
            None
        }
        // Nobody else adds the value, or everybody does: one succeeds.
        2 => put(
            &tree,
            &name_of(thread, number),
            &(2000 + number).to_string(),
        )
        .ok(),
        _ => Some(add(&tree, thread, number).unwrap()),
    });
    let own = THREADS * COMMITS / 4;
    assert_eq!(made.len() as u64, own + COMMITS / 4);
    assert!(made.keys().copied().eq(2..=1 + made.len() as u64));
    assert_eq!(entries(&tree), 1 + made.len() as u64);
    assert_sound(tree.store());
}

#[test]
fn queues_have_all_commits_in_order() {
    let (_, tree) = slow(1);
    let events = tree.events(Vec::new()).unwrap();
    let made = run(&tree, &|thread, number| {
        Some(add(&tree, thread, number).unwrap())
    });
    for (version, name) in made {
        match events.next(Duration::from_secs(5)) {
            Some(Event::Committed(commit)) => {
                assert_eq!((commit.version, &commit.author), (version, &name));
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A load waits for the writes that are shared, and they for it.
#[test]
fn loads_come_between() {
    let (_, tree) = slow(1);
    let load = |thread, number| {
        let name = name_of(thread, number);
        let value = 1000 + number * THREADS + thread;
        let text = format!(r#"{{"m:e":[{{"k":"{name}","v":{value}}}],"m:last":"{name}"}}"#);
        let options = LoadOptions {
            author: &name,
            ..LoadOptions::default()
        };
        let parsed = tree.load(options, &mut |sink| {
            let parsing = ParseOptions::default();
            let root = Root::Datastore;
            json::parse(tree.schema(), root, text.as_bytes(), sink, &parsing).unwrap();
            Ok(())
        });
        parsed.unwrap().commit.version
    };
    let made = run(&tree, &|thread, number| match thread == 0 {
        true => Some(load(thread, number)),
        false => Some(add(&tree, thread, number).unwrap()),
    });
    assert_eq!(made.len() as u64, THREADS * COMMITS);
    assert_sound(tree.store());
}

/// What is decided in one process on a write that then conflicts with another process is decided again.
#[test]
fn conflicts_with_another_process_void_what_was_decided() {
    let (driver, tree) = slow(1);
    let other = of_another_process(driver);
    let made = run(&tree, &|thread, number| {
        let of = [&tree, &other][usize::from(thread % 4 == 0)];
        Some(add(of, thread, number).unwrap())
    });
    assert!(made.keys().copied().eq(1..=THREADS * COMMITS));
    assert_sound(tree.store());
}

/// Versions that a write deletes are kept if it is not made; the next writes must find them again.
#[test]
fn a_write_that_is_not_made_deletes_no_versions() {
    let (driver, tree) = slow(1);
    let other = of_another_process(Arc::clone(&driver));
    keep(&tree, 8);
    run_threads(&|thread, number| {
        let of = [&tree, &other][usize::from(thread % 4 == 0)];
        Some(add(of, thread, number).unwrap())
    });
    assert_kept(&tree, 8);
    driver.arm(Fault {
        sites: vec![Site::Commit],
        after: 1,
        lasting: Lasting::ForEver,
        kind: ErrorKind::Unavailable,
    });
    run_threads(&|thread, number| add(&tree, thread + THREADS, number + 1000).ok());
    driver.disarm();
    assert_kept(&other, 8);
    assert_kept(&tree, 8);
}

fn random_fault(random: &mut StdRng) -> Fault {
    let kinds = [
        (Site::Commit, ErrorKind::Unavailable),
        (Site::Commit, ErrorKind::Conflict),
        (Site::Commit, ErrorKind::Engine),
        (Site::AfterCommit, ErrorKind::OutcomeUnknown),
        (Site::Get, ErrorKind::Unavailable),
        (Site::Snapshot, ErrorKind::Unavailable),
    ];
    let (site, kind) = kinds[random.random_range(0..kinds.len())];
    Fault {
        sites: vec![site],
        after: random.random_range(0..60),
        lasting: match random.random_bool(0.3) && kind != ErrorKind::Conflict {
            true => Lasting::ForEver,
            false => Lasting::Once,
        },
        kind,
    }
}

#[test]
fn after_faults_acknowledged_commits_are_there_and_failed_ones_are_not() {
    let runs = seed::number_from_environment(RUNS_VARIABLE).unwrap_or(12);
    seed::run_each("shared writes", runs, RUNS_VARIABLE, check_fault);
}

fn check_fault(random: &mut StdRng) {
    let (driver, tree) = slow(1);
    let kept = random.random_range(1..40);
    keep(&tree, kept);
    let fault = random_fault(random);
    let is_unknown = AtomicBool::new(false);
    let failed = Mutex::new(Vec::new());
    driver.arm(fault.clone());
    let put_some = |thread: u64, number: u64| {
        let value = (1000 + number * THREADS + thread).to_string();
        let name = name_of(thread, number);
        match thread % 3 {
            0 => put(&tree, &name, &value),
            1 => put_begun(&tree, &name, &value),
            _ => {
                let run = tree.begin_run(2, &|_| {});
                thread::yield_now();
                put_in_run(&tree, &name, &value, run.as_ref())
            }
        }
    };
    let made = run_threads(&|thread, number| match put_some(thread, number) {
        Ok(version) => Some(version),
        Err(Error::Engine(error)) if error.kind() == ErrorKind::OutcomeUnknown => {
            is_unknown.store(true, Ordering::Relaxed);
            None
        }
        Err(Error::Engine(_)) => {
            failed.lock().unwrap().push(name_of(thread, number));
            None
        }
        Err(error) => panic!("{error}"),
    });
    driver.disarm();
    let found = entries(&tree);
    match is_unknown.into_inner() {
        true => assert!(found >= made.len() as u64, "{fault:?}"),
        false => assert_eq!(found, made.len() as u64, "{fault:?}"),
    }
    let view = tree.view().unwrap();
    let exists = |name: &String| {
        let path = path(tree.schema(), &format!("/e={name}"));
        view.exists(&path).unwrap()
    };
    assert!(made.values().all(exists), "{fault:?}");
    assert!(
        !failed.into_inner().unwrap().iter().any(exists),
        "{fault:?}"
    );
    assert_sound(tree.store());
    put(&tree, "after", "14").unwrap();
    assert_kept(&tree, kept);
}

#[test]
fn one_thread_begins_many_commits_that_are_written_together() {
    let (driver, tree) = slow(1);
    put(&tree, "taken", "999").unwrap();
    let before = driver.commits();
    let values = ["1000", "13", "1001", "999", "1002"];
    let begun = (0..).zip(values).map(|(number, value)| {
        begin(&tree, &name_of(0, number), value).expect("nobody else commits")
    });
    let begun: Vec<_> = begun.collect();
    assert_eq!(
        (driver.commits(), entries(&tree)),
        (before, 1),
        "none is written"
    );
    let mut finished = begun.into_iter().map(|begun| tree.finish_commit(begun));
    let mut version = || Some(finished.next()?.ok()??.version);
    assert_eq!(version(), Some(2));
    assert_eq!(version(), None, "it violates a constraint");
    assert_eq!(version(), Some(3));
    assert_eq!(
        version(),
        None,
        "it violates a constraint with another entry"
    );
    assert_eq!(version(), Some(4));
    assert_eq!((driver.commits(), entries(&tree)), (before + 1, 4));
    assert_sound(tree.store());
}

#[test]
fn a_run_of_commits_has_what_was_written_since_it_began() {
    let (_, tree) = slow(1);
    let run = tree.begin_run(2, &|_| {});
    assert!(run.is_some());
    put(&tree, "a", "1000").unwrap();
    let refused = put_in_run(&tree, "b", "1000", run.as_ref());
    assert!(matches!(refused, Err(Error::Data(_))), "{refused:?}");
    let begun = ["1001", "1002"].map(|value| begin_in(run.as_ref(), &tree, value, value).unwrap());
    let made = begun.map(|begun| tree.finish_commit(begun).unwrap().unwrap().version);
    assert_eq!(made, [2, 3]);
    assert_eq!(put_in_run(&tree, "c", "1003", run.as_ref()).unwrap(), 4);
    assert_sound(tree.store());
}

/// The snapshot of the run lacks the commit of the other process, and always will.
#[test]
fn a_run_ends_at_a_commit_of_another_process() {
    let (driver, tree) = slow(1);
    let other = of_another_process(driver);
    let run = tree.begin_run(2, &|_| {});
    put(&other, "a", "1000").unwrap();
    let begun = begin_in(run.as_ref(), &tree, "b", "1001").unwrap();
    assert_eq!(tree.finish_commit(begun).unwrap(), None);
    let begun = begin_in(run.as_ref(), &tree, "b", "1001").unwrap();
    assert_eq!(tree.finish_commit(begun).unwrap().unwrap().version, 2);
    assert_sound(tree.store());
}

/// An error too may follow from a commit that was not made.
#[test]
fn what_was_decided_on_a_failed_write_is_decided_again() {
    let (driver, tree) = slow(1);
    let begun = [("a", "1000"), ("b", "1000"), ("a", "1000")]
        .map(|(name, value)| begin(&tree, name, value).expect("nobody else commits"));
    driver.arm(Fault {
        sites: vec![Site::Commit],
        after: 0,
        lasting: Lasting::Once,
        kind: ErrorKind::Unavailable,
    });
    for begun in begun {
        let finished = tree.finish_commit(begun);
        assert!(matches!(finished, Ok(None)), "{finished:?}");
    }
    driver.disarm();
    // "b" was refused because of "a".
    assert_eq!(put(&tree, "b", "1000").unwrap(), 1);
    let refused = put(&tree, "a", "1000");
    assert!(matches!(refused, Err(Error::Data(_))), "{refused:?}");
    assert_sound(tree.store());
}

#[test]
fn a_begun_commit_that_is_dropped_is_written() {
    let (_, tree) = slow(1);
    let begun = begin(&tree, "a", "1000").expect("nobody else commits");
    let next = begin(&tree, "b", "1001").expect("nobody else commits");
    drop(begun);
    assert_eq!(tree.finish_commit(next).unwrap().unwrap().version, 2);
    assert_eq!(entries(&tree), 2);
    assert_sound(tree.store());
}

/// It would wait for commits that only the same thread can write.
#[test]
fn a_commit_is_not_begun_while_others_wait_for_the_begun_ones() {
    let (_, tree) = slow(1);
    let begun = begin(&tree, "a", "1000").expect("nobody else commits");
    thread::scope(|scope| {
        // A load is made alone, after all that was decided.
        let load = scope.spawn(|| {
            tree.load(LoadOptions::default(), &mut |sink| {
                let (text, parsing) = (br#"{"m:last":"loaded"}"#, ParseOptions::default());
                json::parse(
                    tree.schema(),
                    Root::Datastore,
                    text.as_slice(),
                    sink,
                    &parsing,
                )
                .unwrap();
                Ok(())
            })
        });
        let mut number = 0;
        let mut others = Vec::new();
        while let Some(next) = begin(&tree, &name_of(0, number), &(2000 + number).to_string()) {
            others.push(next);
            number += 1;
            thread::sleep(Duration::from_millis(1));
        }
        tree.finish_commit(begun).unwrap().expect("it is made");
        for next in others {
            tree.finish_commit(next).unwrap().expect("it is made");
        }
        load.join().unwrap().unwrap();
    });
    assert_sound(tree.store());
}

/// One thread has nobody to share with: a write each.
#[test]
fn one_thread_writes_each_commit_by_itself() {
    let tree = memory_tree(MODEL);
    for number in 0..COMMITS {
        assert_eq!(add(&tree, 0, number).unwrap(), number + 1);
    }
    assert_sound(tree.store());
}
