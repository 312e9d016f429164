//! Compares the in-memory map with the standard one: random changes with keys like those of the layers
//! above. Clones must not change.

use std::collections::BTreeMap;

use espalier_keyspace::{ByteMap, Cursor, Direction, KeyRange, counter};
use espalier_testkit::seed;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Clone, Debug)]
enum Step {
    Put(Vec<u8>, usize),
    Add(Vec<u8>, i64),
    /// Ascending keys with a common prefix.
    PutRow(Vec<u8>, u16),
    Remove(Vec<u8>),
    RemoveRange(Vec<u8>, Option<Vec<u8>>),
    RemovePrefix(Vec<u8>),
    Keep,
    Scan(Vec<u8>, Option<Vec<u8>>, Vec<u8>),
}

/// Keys of few different bytes, so that they share prefixes and collide.
fn key() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(0u8), Just(1), Just(b'a'), Just(b'b'), Just(0xff)];
    prop_oneof![
        6 => prop::collection::vec(byte, 1..7),
        3 => (0u16..600).prop_map(|number| [b"list\x01".as_slice(), &number.to_be_bytes()].concat()),
        1 => (0u8..4).prop_map(|byte| vec![byte; 900]),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = prop_oneof![
        12 => 0usize..40, 3 => Just(8usize), 2 => 1000usize..1050, 1 => Just(20_000usize),
    ];
    prop_oneof![
        30 => (key(), bytes).prop_map(|(key, bytes)| Step::Put(key, bytes)),
        3 => (key(), 1u16..300).prop_map(|(key, count)| Step::PutRow(key, count)),
        8 => (key(), prop_oneof![-3..3_i64, Just(i64::MAX)]).prop_map(|(key, delta)| Step::Add(key, delta)),
        20 => key().prop_map(Step::Remove),
        2 => (key(), prop::option::of(key())).prop_map(|(start, end)| Step::RemoveRange(start, end)),
        2 => prop::collection::vec(any::<u8>(), 0..2).prop_map(Step::RemovePrefix),
        2 => Just(Step::Keep),
        10 => (key(), prop::option::of(key()), key()).prop_map(|(a, b, c)| Step::Scan(a, b, c)),
    ]
}

fn range_of(start: &[u8], end: Option<&[u8]>) -> KeyRange {
    KeyRange {
        start: start.to_vec(),
        end: end.map(<[u8]>::to_vec),
    }
}

fn remove_range(map: &mut ByteMap, model: &mut Model, range: &KeyRange) {
    let before = model.len();
    model.retain(|key, _| !range.contains(key));
    assert_eq!(map.remove_range(range), before - model.len());
}

fn put(map: &mut ByteMap, model: &mut Model, key: Vec<u8>, value: Vec<u8>) {
    map.insert(&key, &value);
    model.insert(key, value);
}

/// Adds to a counter; a failed addition must change nothing.
fn add(map: &mut ByteMap, model: &mut Model, key: Vec<u8>, delta: i64) {
    let before = model.get(&key).map(Vec::as_slice);
    match (counter::add(&key, before, delta), map.add(&key, delta)) {
        (Ok(sum), Ok(added)) => {
            assert_eq!(added.before.as_ref().map(<[u8; 8]>::as_slice), before);
            assert_eq!(added.sum, sum);
            model.insert(key, sum.to_vec());
        }
        (Err(expected), Err(refused)) => {
            assert_eq!(refused.kind(), expected.kind());
            assert_eq!(map.get(&key), before);
        }
        (expected, added) => panic!("{key:?}: {expected:?}, {added:?}"),
    }
}

/// The remaining pairs of a cursor.
fn rest(cursor: &mut dyn Cursor) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rest = Vec::new();
    while let Some((key, value)) = cursor.next().expect("next") {
        rest.push((key.to_vec(), value.to_vec()));
    }
    rest
}

fn expected(model: &Model, range: &KeyRange, direction: Direction) -> Vec<(Vec<u8>, Vec<u8>)> {
    if range.is_empty() {
        return Vec::new();
    }
    let pairs = model.range::<[u8], _>(range.bounds());
    let mut pairs: Vec<_> = pairs
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if direction == Direction::Backward {
        pairs.reverse();
    }
    pairs
}

fn scan(map: &ByteMap, model: &Model, range: &KeyRange, sought: &[u8]) {
    for direction in [Direction::Forward, Direction::Backward] {
        let all = expected(model, range, direction);
        let mut pairs = map.scan(range, direction);
        assert_eq!(rest(&mut pairs), all, "{range:?} {direction:?}");
        assert!(Cursor::next(&mut pairs).expect("next").is_none());
        pairs.seek(sought);
        let mut from: Vec<_> = all;
        from.retain(|(key, _)| match direction {
            Direction::Forward => key.as_slice() >= sought,
            Direction::Backward => key.as_slice() <= sought,
        });
        assert_eq!(
            rest(&mut pairs),
            from,
            "{range:?} {direction:?} from {sought:?}"
        );
    }
}

fn same(map: &ByteMap, model: &Model) {
    assert_eq!(map.len(), model.len());
    let bytes: usize = model
        .iter()
        .map(|(key, value)| key.len() + value.len())
        .sum();
    assert_eq!(map.bytes(), bytes);
    let pairs = model
        .iter()
        .map(|(key, value)| (key.as_slice(), value.as_slice()));
    assert!(map.iter().eq(pairs), "the keys and values in order");
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(seed::printed()),
        ..ProptestConfig::with_cases(300)
    })]

    #[test]
    fn it_is_what_the_standard_map_is(steps in prop::collection::vec(step(), 1..400)) {
        let (mut map, mut model) = (ByteMap::new(), Model::new());
        let mut kept: Vec<(ByteMap, Model)> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            let filling = number as u8;
            match step {
                Step::Put(key, bytes) => put(&mut map, &mut model, key, vec![filling; bytes]),
                Step::Add(key, delta) => add(&mut map, &mut model, key, delta),
                Step::PutRow(key, count) => {
                    for row in 0..count {
                        let key = [key.as_slice(), &row.to_be_bytes()].concat();
                        put(&mut map, &mut model, key, vec![filling; 3]);
                    }
                }
                Step::Remove(key) => {
                    prop_assert_eq!(map.remove(&key), model.remove(&key).is_some());
                    prop_assert_eq!(map.get(&key), None);
                }
                Step::RemoveRange(start, end) => {
                    remove_range(&mut map, &mut model, &range_of(&start, end.as_deref()));
                }
                Step::RemovePrefix(prefix) => {
                    remove_range(&mut map, &mut model, &KeyRange::prefix(&prefix));
                }
                Step::Keep => kept.push((map.clone(), model.clone())),
                Step::Scan(start, end, sought) => {
                    prop_assert_eq!(map.get(&sought), model.get(&sought).map(Vec::as_slice));
                    scan(&map, &model, &range_of(&start, end.as_deref()), &sought);
                }
            }
        }
        same(&map, &model);
        kept.iter().for_each(|(map, model)| same(map, model));
    }
}

#[test]
fn a_hundred_thousand_keys_come_and_go() {
    let mut map = ByteMap::new();
    let key = |number: u64| {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 8;
        [b"rows/".as_slice(), &mixed.to_be_bytes()].concat()
    };
    (0..100_000).for_each(|number| map.insert(&key(number), &number.to_be_bytes()));
    assert_eq!((map.len(), map.bytes()), (100_000, 100_000 * (13 + 8)));
    let before = map.clone();
    let all = |number: &u64| map.get(&key(*number)) == Some(&number.to_be_bytes());
    assert!((0..100_000).all(|number| all(&number)));
    (0..100_000).for_each(|number| assert!(map.remove(&key(number)), "{number}"));
    assert!(map.is_empty() && map.bytes() == 0);
    assert_eq!(map.iter().count(), 0);
    assert_eq!(before.iter().count(), 100_000);
}

/// Ranges of every length, in a tree of several levels.
#[test]
fn ranges_of_a_large_map_go() {
    let mut map = ByteMap::new();
    let mut model = Model::new();
    for number in 0..60_000_u32 {
        let key = number.wrapping_mul(2_654_435_761).to_be_bytes();
        put(&mut map, &mut model, key.to_vec(), vec![1; 20]);
    }
    let mut start = 7_u32;
    for round in 0..60 {
        start = start.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let end = start.saturating_add(u32::MAX >> (3 + round % 16));
        let (before, there) = (map.clone(), model.len());
        let range = KeyRange::new(start.to_be_bytes(), end.to_be_bytes());
        remove_range(&mut map, &mut model, &range);
        same(&map, &model);
        assert_eq!(before.iter().count(), there);
    }
    remove_range(&mut map, &mut model, &KeyRange::all());
    same(&map, &model);
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(seed::printed()), ..ProptestConfig::default() })]

    #[test]
    fn the_floor_of_a_key_is_the_last_one_not_after_it(
        keys in prop::collection::btree_set(key(), 0..400),
        removed in prop::option::of((key(), key())),
        sought in prop::collection::vec(key(), 1..40),
    ) {
        let (mut map, mut model) = (ByteMap::new(), Model::new());
        for key in keys {
            map.insert(&key, b"value");
            model.insert(key, b"value".to_vec());
        }
        if let Some((start, end)) = removed {
            remove_range(&mut map, &mut model, &range_of(&start, Some(&end)));
        }
        for key in sought {
            let expected = model.range(..=key.clone()).next_back();
            let expected = expected.map(|(key, value)| (key.as_slice(), value.as_slice()));
            prop_assert_eq!(map.floor(&key), expected);
        }
    }
}
