//! The named limits of the key space.

use espalier_keyspace::{
    Batch, Direction, Driver, Error, ErrorKind, KEY_BYTES_MAX, KeyRange, VALUE_BYTES_MAX, Writer,
};

use super::Open;
use super::operations::{all, delete, error_kind, get, put, scan};

/// A key of the maximum length can be used like a short one.
pub fn the_longest_key_works(open: Open<'_>) {
    let driver = open();
    let keys: Vec<Vec<u8>> = (0..50u8)
        .map(|last| {
            let mut key = vec![b'k'; KEY_BYTES_MAX];
            key[KEY_BYTES_MAX - 1] = last;
            key
        })
        .collect();
    for key in &keys {
        put(&*driver, key, b"value");
    }
    let found: Vec<_> = all(&*driver).into_iter().map(|(key, _)| key).collect();
    assert_eq!(found, keys);
    delete(&*driver, &keys[7]);
    assert_eq!(get(&*driver, &keys[7]), None);
    assert!(get(&*driver, &keys[8]).is_some());
}

/// A longer key, and the empty one, is rejected in any operation of a batch.
pub fn a_longer_key_is_refused(open: Open<'_>) {
    let driver = open();
    put(&*driver, b"k", b"value");
    for length in [0, KEY_BYTES_MAX + 1, 4 * KEY_BYTES_MAX] {
        let key = vec![b'k'; length];
        let calls: [&dyn Fn(&mut Batch); 4] = [
            &|batch| batch.put(key.clone(), "v"),
            &|batch| batch.delete(key.clone()),
            &|batch| batch.add(key.clone(), 1),
            &|batch| batch.require(key.clone(), None),
        ];
        for call in calls {
            let mut batch = Batch::new();
            call(&mut batch);
            assert_eq!(error_kind(driver.commit(batch)), ErrorKind::KeyTooLong);
        }
    }
    let long = vec![b'k'; KEY_BYTES_MAX + 1];
    let snapshot = driver.snapshot().expect("a snapshot");
    assert_eq!(snapshot.get(&long).expect("reading is allowed"), None);
    let beyond = KeyRange::new(long, "l");
    assert_eq!(scan(&*snapshot, &beyond, Direction::Forward), []);
    assert_eq!(all(&*driver).len(), 1);
}

/// A value of the maximum length can be stored.
pub fn the_longest_value_works(open: Open<'_>) {
    let driver = open();
    let value: Vec<u8> = (0..VALUE_BYTES_MAX).map(|at| at as u8).collect();
    put(&*driver, b"key", &value);
    assert!(get(&*driver, b"key") == Some(value), "the value changed");
    put(&*driver, b"key", b"short");
    assert_eq!(get(&*driver, b"key").as_deref(), Some(&b"short"[..]));
}

/// A longer value is rejected, and the error names its key.
pub fn a_longer_value_is_refused(open: Open<'_>) {
    let driver = open();
    let mut batch = Batch::new();
    batch.put("key", vec![0; VALUE_BYTES_MAX + 1]);
    let error = driver.commit(batch).expect_err("a value too long");
    assert_eq!(error.kind(), ErrorKind::ValueTooLong);
    assert_eq!(error.key(), Some(&b"key"[..]));
}

/// One operation over a limit rejects the whole batch.
pub fn a_refused_batch_changes_nothing(open: Open<'_>) {
    let driver = open();
    put(&*driver, b"old", b"value");
    let before = all(&*driver);
    let mut batch = Batch::new();
    batch.put("new", "value");
    batch.delete_range(KeyRange::all());
    batch.put("long", vec![0; VALUE_BYTES_MAX + 1]);
    assert_eq!(error_kind(driver.commit(batch)), ErrorKind::ValueTooLong);
    assert_eq!(all(&*driver), before);
}

/// A call of a writer.
type WriterCall<'a> = &'a dyn Fn(&mut dyn Writer) -> Result<(), Error>;

/// A writer has the same limits as a batch.
pub fn a_writer_refuses_the_same(open: Open<'_>) {
    let driver = open();
    let (long_key, long_value) = (vec![b'k'; KEY_BYTES_MAX + 1], vec![0; VALUE_BYTES_MAX + 1]);
    let calls: [(ErrorKind, WriterCall<'_>); 7] = [
        (ErrorKind::KeyTooLong, &|writer| writer.put(&long_key, b"")),
        (ErrorKind::KeyTooLong, &|writer| writer.put(b"", b"")),
        (ErrorKind::KeyTooLong, &|writer| {
            writer.put_new(&long_key, b"").map(drop)
        }),
        (ErrorKind::KeyTooLong, &|writer| writer.delete(&long_key)),
        (ErrorKind::KeyTooLong, &|writer| writer.add(b"", 1)),
        (ErrorKind::ValueTooLong, &|writer| {
            writer.put(b"k", &long_value)
        }),
        (ErrorKind::ValueTooLong, &|writer| {
            writer.put_new(b"k", &long_value).map(drop)
        }),
    ];
    for (kind, call) in calls {
        let written = driver.write(&[], &mut |writer| call(writer));
        assert_eq!(error_kind(written), kind);
    }
    assert_eq!(all(&*driver), []);
    assert_eq!(
        driver.snapshot().expect("a snapshot").version(),
        open_version(&*driver)
    );
}

fn open_version(driver: &dyn Driver) -> espalier_keyspace::Version {
    driver
        .commit(Batch::new())
        .expect("a commit of nothing")
        .version
}
