//! Random changes over a snapshot, compared with a `BTreeMap`.

use std::collections::BTreeMap;

use espalier_keyspace::{Batch, Direction, KeyRange, Snapshot};
use espalier_testkit::seed;
use rand::Rng;
use rand::rngs::StdRng;

use super::{Overlay, ReadCache};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// Rounds of a run by default.
const ROUNDS: u64 = 400;

#[test]
fn an_overlay_reads_as_a_map_with_the_same_changes() {
    seed::run("the overlay", |random| {
        let rounds = seed::number_from_environment("ESPALIER_OPERATIONS").unwrap_or(ROUNDS);
        (0..rounds).for_each(|_| round(random));
    });
}

fn round(random: &mut StdRng) {
    let driver = espalier_drivers::open("memory:").expect("memory opens");
    let mut model = Map::new();
    let mut batch = Batch::new();
    for _ in 0..random.random_range(0..40) {
        let (key, value) = (key(random), vec![random.random()]);
        model.insert(key.clone(), value.clone());
        batch.put(key, value);
    }
    driver.commit(batch).expect("a commit");
    let base = model.clone();
    let snapshot = driver.snapshot().expect("a snapshot");
    let mut overlay = Overlay::new(match random.random() {
        true => Box::new(ReadCache::new(snapshot)),
        false => snapshot,
    });
    for _ in 0..random.random_range(0..30) {
        change(random, &mut overlay, &mut model);
        compare_scan(random, &overlay, &model);
        for _ in 0..4 {
            let key = key(random);
            let found = overlay.get_new(&key).expect("a get");
            assert_eq!(found.as_deref(), model.get(&key).map(Vec::as_slice));
        }
    }
    for _ in 0..20 {
        let key = key(random);
        let found = overlay.get(&key).expect("a get");
        assert_eq!(found.as_deref(), model.get(&key).map(Vec::as_slice));
    }
    check_cleared(&overlay, &base, &model);
}

/// Keys over few bytes, including `00` and `ff`, so that they collide.
fn key(random: &mut StdRng) -> Vec<u8> {
    let length = random.random_range(1..4);
    (0..length)
        .map(|_| [0, 1, 2, 0x7f, 0xff][random.random_range(0..5)])
        .collect()
}

fn range(random: &mut StdRng) -> KeyRange {
    let (one, two) = (key(random), key(random));
    match random.random_range(0..6) {
        0 => KeyRange::prefix(&one),
        1 => KeyRange::strictly_below(&one),
        2 => KeyRange {
            start: one,
            end: None,
        },
        3 if random.random_ratio(1, 4) => KeyRange::all(),
        4 => KeyRange::new(one, two),
        _ => KeyRange::new(one.clone().min(two.clone()), one.max(two)),
    }
}

fn change(random: &mut StdRng, overlay: &mut Overlay, model: &mut Map) {
    match random.random_range(0..10) {
        0..5 => {
            let (key, value) = (key(random), vec![random.random()]);
            overlay.put(key.clone(), value.clone());
            model.insert(key, value);
        }
        5..7 => {
            let key = key(random);
            overlay.delete(key.clone());
            model.remove(&key);
        }
        _ => {
            let range = range(random);
            overlay.delete_range(&range);
            model.retain(|key, _| !range.contains(key));
        }
    }
}

fn compare_scan(random: &mut StdRng, overlay: &Overlay, model: &Map) {
    let range = range(random);
    let is_forward = random.random();
    let direction = match is_forward {
        true => Direction::Forward,
        false => Direction::Backward,
    };
    let all: Vec<_> = model
        .iter()
        .filter(|(key, _)| range.contains(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let all: Vec<_> = match is_forward {
        true => all,
        false => all.into_iter().rev().collect(),
    };
    let mut cursor = overlay.scan(&range, direction).expect("a scan");
    let mut at = 0;
    loop {
        if random.random_ratio(1, 5) {
            let target = key(random);
            cursor.seek(&target).expect("a seek");
            at = all.partition_point(|(key, _)| match is_forward {
                true => *key < target,
                false => *key > target,
            });
        }
        let found = cursor.next().expect("a step");
        let found = found.map(|(key, value)| (key.to_vec(), value.to_vec()));
        assert_eq!(found.as_ref(), all.get(at), "{range:?} {direction:?}");
        if found.is_none() {
            break;
        }
        at += 1;
    }
}

/// Checks that the ranges and keys of the resulting commit lead to the same map.
fn check_cleared(overlay: &Overlay, base: &Map, model: &Map) {
    let mut result = base.clone();
    let ranges: Vec<KeyRange> = overlay.cleared().collect();
    for pair in ranges.windows(2) {
        let end = pair[0].end.as_ref().expect("only the last has no end");
        assert!(*end < pair[1].start, "ranges that touch are joined");
    }
    for range in &ranges {
        result.retain(|key, _| !range.contains(key));
    }
    for (key, value) in overlay.written() {
        match value {
            Some(value) => result.insert(key.to_vec(), value.to_vec()),
            None => result.remove(key),
        };
    }
    assert_eq!(&result, model);
}
