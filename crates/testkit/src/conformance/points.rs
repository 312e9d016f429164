//! Single keys: get, put, delete.

use espalier_keyspace::{Batch, KEY_BYTES_MAX};

use super::Open;
use super::acts::{all, delete, get, put};

/// A put is visible to the next snapshot, and a second one replaces it.
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

/// A deleted key is absent; deleting what is absent is no error.
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

/// An empty value is not the same as an absent one.
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

/// Keys and values hold any bytes, zeros and `0xff` included.
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

/// Nothing can be at the empty key, and asking for it is no error.
pub fn the_empty_key_is_absent(open: Open<'_>) {
    let driver = open();
    assert_eq!(get(&*driver, b""), None);
    put(&*driver, b"k", b"v");
    assert_eq!(get(&*driver, b""), None);
}
