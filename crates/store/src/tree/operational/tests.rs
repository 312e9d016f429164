//! Tests the union of two trees: every scan returns its part of a full scan.

use std::sync::Arc;

use espalier_keyspace::{Direction, KeyRange, Snapshot};
use espalier_testkit::documents::json_document;
use espalier_testkit::seed;
use espalier_yang::InstancePath;
use espalier_yang::schema::{ModuleSource, SchemaSource};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::clock::SystemClock;
use crate::store::Store;
use crate::subspace::Subspace;
use crate::tree::{CommitOptions, Datastore, Edit, Tree};

const MODEL: &str = "module m { namespace urn:m; prefix m;
  leaf-list turn { type string; ordered-by user; }
  list e { key k; leaf k { type string; } leaf v { type string; } }
  list o { key k; ordered-by user; leaf k { type string; } leaf v { type string; }
    list s { key k; leaf k { type string; } }
    list o { key k; ordered-by user; leaf k { type string; } leaf v { type string; } }
    container c { leaf v { type string; } } }
  list event { config false; leaf v { type string; } } }";

/// Rounds per run.
const ROUNDS: usize = 20;

/// Scans per state.
const SCANS: usize = 100;

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fn trees() -> [Tree; 2] {
    let driver = espalier_drivers::open("memory:").unwrap();
    let store = Store::open(driver, Arc::new(SystemClock)).unwrap();
    store.create_dataspace("d").unwrap();
    let source = SchemaSource {
        modules: vec![ModuleSource {
            name: "m".into(),
            revision: None,
            text: MODEL.into(),
        }],
        ..SchemaSource::default()
    };
    store.create_schema_set("d", "s", &source).unwrap();
    store.create_anchor("d", "a", "s").unwrap();
    [Datastore::Running, Datastore::Operational]
        .map(|datastore| store.tree("d", "a", datastore).unwrap())
}

/// Some of the names, in random order.
fn names(random: &mut StdRng) -> Vec<&'static str> {
    let count = random.random_range(0..4);
    ["a", "b", "c", "d", "e"]
        .choose_multiple(random, count)
        .copied()
        .collect()
}

fn entries(random: &mut StdRng, content: &dyn Fn(&mut StdRng) -> String) -> String {
    let entries: Vec<String> = names(random)
        .into_iter()
        .map(|name| format!(r#"{{"k":"{name}"{}}}"#, content(random)))
        .collect();
    format!("[{}]", entries.join(","))
}

fn document(random: &mut StdRng) -> String {
    let leaf = |random: &mut StdRng| match random.random_ratio(1, 2) {
        true => format!(r#","v":"{}""#, random.random_range(0..9)),
        false => String::new(),
    };
    let inner = |random: &mut StdRng| {
        let (v, s, o) = (
            leaf(random),
            entries(random, &|_| String::new()),
            entries(random, &leaf),
        );
        let c = leaf(random);
        let c = c.trim_start_matches(',');
        format!(r#"{v},"s":{s},"o":{o},"c":{{{c}}}"#)
    };
    let (e, o) = (entries(random, &leaf), entries(random, &inner));
    let turn = names(random);
    let events: Vec<String> = names(random)
        .iter()
        .map(|name| format!(r#"{{"v":"{name}"}}"#))
        .collect();
    let events = events.join(",");
    format!(r#"{{"m:turn":{turn:?},"m:e":{e},"m:o":{o},"m:event":[{events}]}}"#)
}

fn scan(
    snapshot: &dyn Snapshot,
    range: &KeyRange,
    direction: Direction,
    places: &[Vec<u8>],
) -> Pairs {
    let mut cursor = snapshot.scan(range, direction).unwrap();
    for place in places {
        cursor.next().unwrap();
        cursor.seek(place).unwrap();
    }
    let mut pairs = Pairs::new();
    while let Some((key, value)) = cursor.next().unwrap() {
        pairs.push((key.to_vec(), value.to_vec()));
    }
    assert_eq!(cursor.next().unwrap(), None);
    pairs
}

/// A key, a part of one, or the end of a prefix range.
fn any_place(random: &mut StdRng, all: &Pairs, prefix: &[u8]) -> Vec<u8> {
    let Some((key, _)) = all.choose(random) else {
        return prefix.to_vec();
    };
    let length = random.random_range(prefix.len()..=key.len());
    match random.random_range(0..4) {
        0 => key.clone(),
        1 => key[..length].to_vec(),
        2 => KeyRange::prefix(&key[..length]).end.unwrap(),
        _ => [&key[..length], &[0]].concat(),
    }
}

#[test]
fn any_scan_gives_its_part_of_everything() {
    seed::run("scans of a union", |random| {
        for _ in 0..ROUNDS {
            check_scans(random);
        }
    });
}

fn check_scans(random: &mut StdRng) {
    let [running, operational] = trees();
    for tree in [&running, &operational] {
        let data = json_document(tree.schema(), &document(random));
        let edits = [Edit::merge(InstancePath::root(), data)];
        tree.commit(&edits, CommitOptions::default()).unwrap();
    }
    let view = operational.view().unwrap();
    let snapshot = view.state().snapshot;
    let prefix = operational.id().prefix(Subspace::Tree);
    let whole = KeyRange::prefix(&prefix);
    let all = scan(snapshot, &whole, Direction::Forward, &[]);
    assert!(all.is_sorted_by(|one, two| one.0 < two.0));
    for (key, value) in &all {
        assert_eq!(
            snapshot.get(key).unwrap().as_deref(),
            Some(value.as_slice())
        );
    }
    for _ in 0..SCANS {
        let range = match random.random_range(0..3) {
            0 => whole.clone(),
            1 => KeyRange::prefix(&any_place(random, &all, &prefix)),
            _ => KeyRange {
                start: any_place(random, &all, &prefix),
                end: Some(any_place(random, &all, &prefix)),
            },
        };
        let range = range.intersection(&whole);
        for direction in [Direction::Forward, Direction::Backward] {
            let count = random.random_range(0..3);
            let places: Vec<_> = (0..count)
                .map(|_| any_place(random, &all, &prefix))
                .collect();
            let mut expected: Pairs = all.clone();
            expected.retain(|(key, _)| range.contains(key));
            if direction == Direction::Backward {
                expected.reverse();
            }
            if let Some(place) = places.last() {
                expected.retain(|(key, _)| match direction {
                    Direction::Forward => key >= place,
                    Direction::Backward => key <= place,
                });
            }
            let found = scan(snapshot, &range, direction, &places);
            assert_eq!(found, expected, "{range:?} {direction:?} {places:?}");
        }
    }
}
