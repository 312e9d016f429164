//! Snapshots of old versions, and snapshots with prefetched reads.

use std::collections::BTreeMap;

use espalier_keyspace::{Batch, Direction, KEY_BYTES_MAX, KeyRange, PrefetchList, Snapshot};

use super::Open;
use super::operations::{Pairs, get_in, put, put_keys, scan};

/// The changes of one commit: a value for each key, or none for a deletion.
type Step = &'static [(&'static [u8], Option<&'static [u8]>)];

/// Every transition of a key: created, overwritten, deleted, created again, all of these within one commit,
/// and with keys that are longer by a zero.
const HISTORY: [Step; 9] = [
    &[
        (b"a", Some(b"1")),
        (b"a\0", Some(b"1")),
        (b"b", Some(b"1")),
        (b"c", Some(b"1")),
    ],
    &[(b"b", Some(b"2")), (b"d", Some(b"2"))],
    &[(b"a", None), (b"e", Some(b""))],
    &[(b"a", Some(b"4")), (b"a\0\xff", Some(b"4"))],
    &[(b"b", None), (b"b", Some(b"5")), (b"b", Some(b"5 again"))],
    &[(b"c", None), (b"d", Some(b"6")), (b"f", Some(b"6"))],
    &[(b"f", None), (b"g", Some(b"7")), (b"g", None)],
    &[(b"f", Some(b"8")), (b"f", None), (b"f", Some(b"8 again"))],
    &[(b"c", Some(b"9")), (b"a", Some(b"9")), (b"a\0", None)],
];

/// Each version keeps the state of its commit, independent of later changes.
pub fn old_versions_show_what_was_there(open: Open<'_>) {
    let driver = open();
    let mut state = BTreeMap::new();
    let mut held = vec![(driver.snapshot().expect("a snapshot"), Pairs::new())];
    for step in HISTORY {
        let mut batch = Batch::new();
        for (key, value) in step {
            match value {
                Some(value) => {
                    batch.put(*key, *value);
                    state.insert(key.to_vec(), value.to_vec());
                }
                None => {
                    batch.delete(*key);
                    state.remove(*key);
                }
            }
        }
        driver.commit(batch).expect("a commit");
        let pairs = state.clone().into_iter().collect();
        held.push((driver.snapshot().expect("a snapshot"), pairs));
    }
    let keys = HISTORY.iter().flat_map(|step| step.iter());
    let keys: Vec<&[u8]> = keys.map(|(key, _)| *key).collect();
    for (snapshot, pairs) in &held {
        shows(&**snapshot, &keys, pairs);
    }
}

/// Likewise for commits that change hundreds of keys, whether earlier versions are read at once or much
/// later.
pub fn large_commits_leave_old_versions(open: Open<'_>) {
    let driver = open();
    let key = |number: u32| [b"k\0", &number.to_be_bytes()[..]].concat();
    let mut state = BTreeMap::new();
    let mut held = Vec::new();
    for round in 0..6u8 {
        let mut batch = Batch::new();
        // Keys that are deleted as a range, most of which are created again, are overwritten, or are new.
        if round % 2 == 0 {
            let from = key(u32::from(round / 4) * 150);
            state.retain(|held: &Vec<u8>, _| *held < from);
            batch.delete_range(KeyRange::new(from, key(1000)));
        }
        for number in (0..300).filter(|number| number % 5 != u32::from(round)) {
            batch.put(key(number), [round; 3]);
            state.insert(key(number), vec![round; 3]);
        }
        driver.commit(batch).expect("a commit");
        let pairs: Pairs = state.clone().into_iter().collect();
        held.push((driver.snapshot().expect("a snapshot"), pairs));
        // One version is read in between, so that not all are read at the end.
        if round == 3 {
            let (snapshot, pairs) = &held[1];
            shows(&**snapshot, &[], pairs);
        }
    }
    let keys = [0, 1, 2, 150, 151, 298, 299, 300].map(key);
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    for (snapshot, pairs) in held.iter().rev() {
        shows(&**snapshot, &keys, pairs);
    }
}

fn shows(snapshot: &dyn Snapshot, keys: &[&[u8]], pairs: &Pairs) {
    let version = snapshot.version();
    let mut found = scan(snapshot, &KeyRange::all(), Direction::Backward);
    found.reverse();
    assert_eq!(&found, pairs, "backward at {version:?}");
    let found = scan(snapshot, &KeyRange::all(), Direction::Forward);
    assert_eq!(&found, pairs, "forward at {version:?}");
    for key in keys {
        let there = pairs.iter().find(|(held, _)| held == key);
        let value = there.map(|(_, value)| value.clone());
        assert_eq!(get_in(snapshot, key), value, "{key:?} at {version:?}");
    }
}

/// A snapshot with prefetched reads returns the same results for these and all other reads.
pub fn what_is_expected_is_read(open: Open<'_>) {
    let driver = open();
    put_keys(&*driver, &[b"a", b"b", b"b1", b"b2", b"b3", b"c"]);
    let (few, all) = (KeyRange::prefix(b"b"), KeyRange::all());
    let expect = |expected: &mut PrefetchList| {
        for key in [&b"a"[..], b"absent", b"", b"b1", b"a"] {
            expected.key(key);
        }
        expected.key(vec![b'k'; KEY_BYTES_MAX + 1]);
        expected.range(few.clone(), 2);
        expected.range(all.clone(), 100);
        expected.range(KeyRange::prefix(b"z"), 1);
    };
    let expecting = driver.snapshot_with_prefetch(&expect).expect("a snapshot");
    let plain = driver.snapshot().expect("a snapshot");
    assert_eq!(expecting.version(), plain.version());
    put(&*driver, b"a", b"later");
    put(&*driver, b"b0", b"later");
    for key in [&b"a"[..], b"absent", b"", b"b1", b"b2", b"c", b"a"] {
        assert_eq!(get_in(&*expecting, key), get_in(&*plain, key), "{key:?}");
    }
    assert_eq!(get_in(&*expecting, &[b'k'; KEY_BYTES_MAX + 1]), None);
    for range in [few, all, KeyRange::prefix(b"z"), KeyRange::new("b1", "c")] {
        for direction in [Direction::Forward, Direction::Backward] {
            let found = scan(&*expecting, &range, direction);
            assert_eq!(found, scan(&*plain, &range, direction), "{range:?}");
        }
    }
    let mut cursor = expecting
        .scan(&KeyRange::prefix(b"b"), Direction::Forward)
        .expect("a scan");
    cursor.next().expect("a step");
    cursor.seek(b"b3").expect("a seek");
    let found = cursor.next().expect("a step").map(|(key, _)| key.to_vec());
    assert_eq!(found.as_deref(), Some(&b"b3"[..]));
    let nothing = driver.snapshot_with_prefetch(&|_| {}).expect("a snapshot");
    assert_eq!(get_in(&*nothing, b"a").as_deref(), Some(&b"later"[..]));
}

/// A snapshot for an update has the newest state of keys that no other writer changes.
pub fn a_view_to_change_shows_its_own_commits(open: Open<'_>) {
    let driver = open();
    let expect = |expected: &mut PrefetchList| expected.key(b"n");
    let mut newest = None;
    for round in 0..5_u8 {
        let view = driver.snapshot_for_update(&expect).expect("a view");
        assert_eq!(get_in(&*view, b"n"), newest, "{round}");
        assert!(
            driver.is_current(view.version()).expect("the version"),
            "{round}"
        );
        let mut batch = Batch::new();
        batch.require(b"n", newest);
        batch.put(b"n", [round]);
        batch.put(b"m", [round]);
        driver.commit(batch).expect("committed");
        newest = Some(vec![round]);
    }
}
