//! Single keys: get, put, delete.

use std::borrow::Cow;

use espalier_keyspace::{Batch, KEY_BYTES_MAX, PrefetchList, Snapshot};

use super::Open;
use super::operations::{all, delete, get, get_in, numbered, put};

/// A put is visible in the next snapshot, and a second one replaces it.
pub fn what_is_put_is_got(open: Open<'_>) {
    let driver = open();
    assert_eq!(get(&*driver, b"key"), None);
    put(&*driver, b"key", b"one");
    assert_eq!(get(&*driver, b"key").as_deref(), Some(&b"one"[..]));
    put(&*driver, b"key", b"another, longer");
    assert_eq!(
        get(&*driver, b"key").as_deref(),
        Some(&b"another, longer"[..])
    );
    for neighbour in [&b"ke"[..], b"key\0", b"kez", b"k"] {
        assert_eq!(get(&*driver, neighbour), None);
    }
}

/// A deleted key is absent; deleting an absent key is not an error.
pub fn what_is_deleted_is_gone(open: Open<'_>) {
    let driver = open();
    put(&*driver, b"key", b"value");
    put(&*driver, b"other", b"value");
    delete(&*driver, b"key");
    assert_eq!(get(&*driver, b"key"), None);
    assert!(get(&*driver, b"other").is_some());
    delete(&*driver, b"key");
    put(&*driver, b"key", b"again");
    assert_eq!(get(&*driver, b"key").as_deref(), Some(&b"again"[..]));
}

/// An empty value differs from an absent one.
pub fn an_empty_value_is_a_value(open: Open<'_>) {
    let driver = open();
    put(&*driver, b"key", b"");
    assert_eq!(get(&*driver, b"key").as_deref(), Some(&b""[..]));
    assert_eq!(all(&*driver), [(b"key".to_vec(), Vec::new())]);
    let mut batch = Batch::new();
    batch.require("key", Some(Vec::new()));
    batch.put("key", "x");
    driver.commit(batch).expect("the value is empty");
}

/// Keys and values may contain any bytes, including zeros and `0xff`.
pub fn any_bytes_are_a_key(open: Open<'_>) {
    let driver = open();
    let keys: Vec<Vec<u8>> = (0..=255u8)
        .flat_map(|byte| [vec![byte], vec![byte, 0], vec![0xff, byte], vec![0, byte]])
        .chain([vec![0xff; KEY_BYTES_MAX]])
        .collect();
    for key in &keys {
        put(&*driver, key, key);
    }
    for key in &keys {
        assert_eq!(get(&*driver, key).as_ref(), Some(key));
    }
}

/// The empty key never exists, and reading it is not an error.
pub fn the_empty_key_is_absent(open: Open<'_>) {
    let driver = open();
    assert_eq!(get(&*driver, b""), None);
    put(&*driver, b"k", b"v");
    assert_eq!(get(&*driver, b""), None);
}

/// `get_many` returns the same values as `get`, also in an old snapshot and in a write.
pub fn many_keys_are_got_at_once(open: Open<'_>) {
    const KEYS: u64 = 300;
    let driver = open();
    let mut batch = Batch::new();
    (0..KEYS).for_each(|number| batch.put(numbered(number), vec![7; number as usize]));
    (0..4).for_each(|number| batch.put(format!("long {number}"), vec![number; 700_000]));
    driver.commit(batch).expect("a batch");
    let old = driver.snapshot().expect("a snapshot");
    let expect = |expected: &mut PrefetchList| {
        expected.key(numbered(3));
        expected.key("absent");
    };
    let expecting = driver.snapshot_with_prefetch(&expect).expect("a snapshot");
    put(&*driver, &numbered(2), b"changed");
    put(&*driver, b"new", b"new");
    delete(&*driver, &numbered(1));
    delete(&*driver, b"long 1");
    let newest = driver.snapshot().expect("a snapshot");
    for snapshot in [&old, &expecting, &newest] {
        shows_many(&**snapshot, KEYS);
    }
    driver
        .write(&[], &mut |writer| {
            writer.put(b"absent", b"written")?;
            writer.delete(&numbered(7))?;
            shows_many(&*writer.snapshot()?, KEYS);
            Ok(())
        })
        .expect("a write");
}

fn shows_many(snapshot: &dyn Snapshot, count: u64) {
    let mut keys: Vec<Vec<u8>> = (0..count + 5).rev().map(numbered).collect();
    let others: [&[u8]; 7] = [
        b"absent", b"new", b"", b"long 3", b"long 1", b"absent", b"long 3",
    ];
    keys.extend(others.map(<[u8]>::to_vec));
    keys.push(vec![b'k'; KEY_BYTES_MAX + 1]);
    keys.push(numbered(3));
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let values = snapshot.get_many(&keys).expect("values");
    assert_eq!(values.len(), keys.len());
    for (key, value) in keys.iter().zip(values) {
        let shown = key.escape_ascii();
        assert_eq!(value.map(Cow::into_owned), get_in(snapshot, key), "{shown}");
    }
    assert!(snapshot.get_many(&[]).expect("nothing").is_empty());
}
