//! Scans: order, boundaries, seek.

use espalier_keyspace::{Direction, KeyRange, Snapshot, VALUE_BYTES_MAX};

use super::Open;
use super::operations::{Pairs, put, put_keys, scan};

const KEYS: &[&[u8]] = &[
    b"\0",
    b"\0\0",
    b"a",
    b"a\0",
    b"a\xff",
    b"ab",
    b"abc",
    b"b",
    b"ba",
    b"c\0d",
    b"\xff",
    b"\xff\xff",
];

const BOUNDARIES: &[&[u8]] = &[
    b"",
    b"\0",
    b"\0\0",
    b"\0\x01",
    b"a",
    b"a\0",
    b"aa",
    b"ab",
    b"abc",
    b"abd",
    b"b",
    b"bb",
    b"c",
    b"c\0d",
    b"zzz",
    b"\xff",
    b"\xff\0",
    b"\xff\xff",
    b"\xff\xff\xff",
];

fn expected(range: &KeyRange, direction: Direction) -> Pairs {
    let mut keys: Vec<&[u8]> = KEYS.to_vec();
    keys.sort();
    keys.retain(|key| range.contains(key));
    if direction == Direction::Backward {
        keys.reverse();
    }
    keys.iter()
        .map(|key| (key.to_vec(), key.to_vec()))
        .collect()
}

fn every_range() -> impl Iterator<Item = KeyRange> {
    let ends = || {
        BOUNDARIES
            .iter()
            .map(|end| Some(end.to_vec()))
            .chain([None])
    };
    BOUNDARIES.iter().flat_map(move |start| {
        ends().map(|end| KeyRange {
            start: start.to_vec(),
            end,
        })
    })
}

/// Forward is byte order, backward is the reverse, independent of the order of writes.
pub fn keys_come_in_byte_order(open: Open<'_>) {
    let driver = open();
    let mut shuffled = KEYS.to_vec();
    shuffled.reverse();
    shuffled.swap(2, 7);
    for key in shuffled {
        put(&*driver, key, key);
    }
    let snapshot = driver.snapshot().expect("a snapshot");
    for direction in [Direction::Forward, Direction::Backward] {
        let all = KeyRange::all();
        assert_eq!(scan(&*snapshot, &all, direction), expected(&all, direction));
    }
}

/// Bounds that are keys, between keys, before all and after all; empty ranges too.
pub fn every_kind_of_boundary(open: Open<'_>) {
    let driver = open();
    let empty = driver.snapshot().expect("a snapshot");
    for range in every_range() {
        assert_eq!(scan(&*empty, &range, Direction::Backward), []);
    }
    put_keys(&*driver, KEYS);
    let snapshot = driver.snapshot().expect("a snapshot");
    for range in every_range() {
        for direction in [Direction::Forward, Direction::Backward] {
            let found = scan(&*snapshot, &range, direction);
            assert_eq!(
                found,
                expected(&range, direction),
                "{range:?} {direction:?}"
            );
        }
    }
}

/// Seek moves to the key or the next one in the direction, and never leaves the range.
pub fn seek_moves_within_the_range(open: Open<'_>) {
    let driver = open();
    put_keys(&*driver, KEYS);
    let snapshot = driver.snapshot().expect("a snapshot");
    let ranges = [
        KeyRange::all(),
        KeyRange::new("a", "c"),
        KeyRange::new("a\0", "ab"),
        KeyRange::new("b", "a"),
    ];
    for range in ranges {
        for direction in [Direction::Forward, Direction::Backward] {
            for place in BOUNDARIES {
                check_seek(&*snapshot, &range, direction, place);
            }
        }
    }
}

fn check_seek(snapshot: &dyn Snapshot, range: &KeyRange, direction: Direction, place: &[u8]) {
    let mut rest = expected(range, direction);
    rest.retain(|(key, _)| match direction {
        Direction::Forward => key.as_slice() >= place,
        Direction::Backward => key.as_slice() <= place,
    });
    for steps in [0, 1, usize::MAX] {
        let mut cursor = snapshot.scan(range, direction).expect("a scan");
        let mut taken = 0;
        while taken < steps && cursor.next().expect("a step").is_some() {
            taken += 1;
        }
        cursor.seek(place).expect("a seek");
        let mut found = Pairs::new();
        while let Some((key, value)) = cursor.next().expect("a step") {
            found.push((key.to_vec(), value.to_vec()));
        }
        assert_eq!(found, rest, "{range:?} {direction:?} from {place:?}");
    }
}

/// After its end a cursor always returns `None`.
pub fn an_exhausted_cursor_stays_so(open: Open<'_>) {
    let driver = open();
    put_keys(&*driver, KEYS);
    let snapshot = driver.snapshot().expect("a snapshot");
    for direction in [Direction::Forward, Direction::Backward] {
        for range in [
            KeyRange::all(),
            KeyRange::new("a", "b"),
            KeyRange::new("x", "y"),
        ] {
            let mut cursor = snapshot.scan(&range, direction).expect("a scan");
            while cursor.next().expect("a step").is_some() {}
            for _ in 0..3 {
                assert_eq!(cursor.next().expect("past the end"), None);
            }
        }
    }
}

/// A scan returns values of any size unchanged.
pub fn large_values_in_a_scan(open: Open<'_>) {
    let driver = open();
    let sizes = [0, 1, 2040, 4080, 4096, 4097, 100_000, VALUE_BYTES_MAX];
    let pairs: Pairs = sizes
        .iter()
        .enumerate()
        .map(|(at, &size)| (vec![b'k', at as u8], vec![at as u8; size]))
        .collect();
    for (key, value) in &pairs {
        put(&*driver, key, value);
    }
    let snapshot = driver.snapshot().expect("a snapshot");
    let found = scan(&*snapshot, &KeyRange::prefix(b"k"), Direction::Forward);
    assert!(found == pairs, "a value came out changed");
}
