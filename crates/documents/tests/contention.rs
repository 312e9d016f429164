//! Many writers of the same collection, each with its own engine handle, like processes: keys and unique
//! values are assigned once, no change is lost, and indexes that are built at the same time are correct.
//!
//! These tests are for a bug: after eight conflicts a transaction ran in an engine write, which over Redis,
//! etcd and MongoDB was applied over concurrent commits of others.

mod fixture;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use espalier_documents::{Collection, Documents, ErrorKind, FieldIndex, Kind, Policy};
use espalier_testkit::servers::shareable_urls;
use fixture::{PREFIX, car, cars, schemes};
use serde_json::{Value as Json, json};

const HANDLES: usize = 5;
const ROUNDS: usize = 25;

fn on_all(options: &str, test: impl Fn(&dyn Fn() -> Documents)) {
    let dir = tempfile::tempdir().expect("a directory");
    for url in shareable_urls(dir.path(), schemes(), options) {
        eprintln!("over {url}");
        let open = || Documents::new(espalier_drivers::open(&url).expect(&url), PREFIX);
        test(&open);
    }
}

fn nothing_is_lost_over(options: &str) {
    on_all(options, |open| {
        let handles: Vec<_> = (0..HANDLES)
            .map(|_| cars(Policy::Uncached).open(&open()).expect("open"))
            .collect();
        handles[0].insert(car("first", "red", &[], 0)).expect("0");
        let (keys, taken) = (Mutex::new(BTreeSet::new()), Mutex::new(0));
        thread::scope(|scope| {
            for (number, cars) in handles.iter().enumerate() {
                let (keys, taken) = (&keys, &taken);
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let own = car(&format!("{number}-{round}"), "red", &["k"], 1);
                        let key = cars.insert(own).expect("a key");
                        assert!(keys.lock().expect("no panic").insert(key), "{key} twice");
                        cars.update(0, |car| car.year += 1).expect("updated");
                        match cars.insert(car(&format!("{round}"), "blue", &[], 1)) {
                            Ok(_) => *taken.lock().expect("no panic") += 1,
                            Err(error) => assert_eq!(error.kind(), ErrorKind::Unique, "{error}"),
                        }
                    }
                });
            }
        });
        let cars = cars(Policy::Uncached).open(&open()).expect("open");
        assert_eq!(cars.check().expect("checked"), []);
        assert_eq!(taken.into_inner().expect("no panic"), ROUNDS);
        let all = 1 + ROUNDS + HANDLES * ROUNDS;
        assert_eq!(cars.count().expect("a count"), all as u64);
        let first = cars.get(0).expect("read").expect("there");
        assert_eq!(first.year as usize, HANDLES * ROUNDS);
    });
}

#[test]
fn nothing_is_lost_between_many_handles() {
    nothing_is_lost_over("");
}

#[test]
fn nothing_is_lost_between_many_handles_with_all_in_memory() {
    nothing_is_lost_over("policy=cached");
}

/// Changes documents at random places until `is_over`; each turn changes its own documents.
fn disturb(cars: &Collection<Json>, documents: u64, turn: u64, is_over: &AtomicBool) -> usize {
    let (mut changes, mut place) = (0, turn + 1);
    while !is_over.load(Ordering::Relaxed) {
        place = place * 48_271 % 2_147_483_647;
        let key = place % documents / 2 * 2 + turn;
        let car = json!({"name": format!("n{key}"), "color": "blue"});
        let recolor = |car: &mut Json| car["color"] = json!(format!("c{}", place % 7));
        let changed = match place % 5 {
            0 => cars.delete(key).map(drop),
            1 | 2 => cars.put(key, car).map(drop),
            _ => cars.update(key, recolor).map(drop),
        };
        match changed {
            Err(error) if error.kind() == ErrorKind::Missing => {}
            changed => changed.expect("changed"),
        }
        changes += 1;
    }
    changes
}

#[test]
fn an_index_that_is_built_while_other_handles_write_is_correct() {
    on_all("", |open| {
        let documents = 24 * ROUNDS as u64;
        let configure =
            |documents: &Documents, indexes| documents.configure("cars", Policy::Uncached, indexes);
        let field = |name: &str, kind| FieldIndex {
            name: name.to_owned(),
            kind,
            fields: vec![format!("/{name}")],
        };
        let indexes = vec![field("name", Kind::Unique), field("color", Kind::Partition)];
        let made = configure(&open(), Vec::new()).expect("made");
        made.insert_many((0..documents).map(|key| json!({"name": format!("n{key}")})))
            .expect("keys");
        let is_over = AtomicBool::new(false);
        let changes: usize = thread::scope(|scope| {
            let disturb = |turn| {
                let cars = open().open("cars", None).expect("open");
                let is_over = &is_over;
                scope.spawn(move || disturb(&cars, documents, turn, is_over))
            };
            let others = [0, 1].map(disturb);
            let built = configure(&open(), indexes.clone());
            is_over.store(true, Ordering::Relaxed);
            built.expect("built");
            let ended = others.into_iter().map(|other| other.join());
            ended.map(|changes| changes.expect("no panic")).sum()
        });
        eprintln!("{changes} changes meanwhile");
        let cars = open().open("cars", None).expect("open");
        assert_eq!(
            cars.info().expect("information").indexes.len(),
            indexes.len()
        );
        assert_eq!(cars.check().expect("checked"), []);
    });
}
