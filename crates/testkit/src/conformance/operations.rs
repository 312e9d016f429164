//! Operations on a driver, for the cases; all panic if the driver fails.

use espalier_keyspace::{Batch, Direction, Driver, ErrorKind, KeyRange, Result, Snapshot, Version};

/// Keys and values, owned.
pub(super) type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

pub(super) fn put(driver: &dyn Driver, key: &[u8], value: &[u8]) -> Version {
    let mut batch = Batch::new();
    batch.put(key, value);
    driver.commit(batch).expect("a put").version
}

pub(super) fn put_keys(driver: &dyn Driver, keys: &[&[u8]]) {
    let mut batch = Batch::new();
    keys.iter().for_each(|key| batch.put(*key, *key));
    driver.commit(batch).expect("a batch of puts");
}

pub(super) fn delete(driver: &dyn Driver, key: &[u8]) -> Version {
    let mut batch = Batch::new();
    batch.delete(key);
    driver.commit(batch).expect("a delete").version
}

pub(super) fn get(driver: &dyn Driver, key: &[u8]) -> Option<Vec<u8>> {
    let snapshot = driver.snapshot().expect("a snapshot");
    get_in(&*snapshot, key)
}

pub(super) fn get_in(snapshot: &dyn Snapshot, key: &[u8]) -> Option<Vec<u8>> {
    let value = snapshot.get(key).expect("a get");
    value.map(std::borrow::Cow::into_owned)
}

pub(super) fn all(driver: &dyn Driver) -> Pairs {
    let snapshot = driver.snapshot().expect("a snapshot");
    scan(&*snapshot, &KeyRange::all(), Direction::Forward)
}

pub(super) fn scan(snapshot: &dyn Snapshot, range: &KeyRange, direction: Direction) -> Pairs {
    let mut cursor = snapshot.scan(range, direction).expect("a scan");
    let mut pairs = Pairs::new();
    while let Some((key, value)) = cursor.next().expect("a step") {
        pairs.push((key.to_vec(), value.to_vec()));
    }
    pairs
}

/// The kind of the error that a call must return.
#[track_caller]
pub(super) fn error_kind<T>(result: Result<T>) -> ErrorKind {
    match result {
        Ok(_) => panic!("a call succeeded that must fail"),
        Err(error) => error.kind(),
    }
}

/// A key whose order is the order of the numbers.
pub(super) fn numbered(number: u64) -> Vec<u8> {
    format!("key {number:012}").into_bytes()
}
