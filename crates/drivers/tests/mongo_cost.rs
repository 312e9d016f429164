//! How many commands the MongoDB driver sends: each is a round trip, and on the server of the tests a
//! reading of a range.
#![cfg(feature = "mongo")]

use espalier_keyspace::{Batch, Driver, Expected, KeyRange};
use espalier_testkit::servers::Mongo;

/// What the server has been sent so far, by what it is.
fn sent(mongo: &Mongo) -> [i64; 4] {
    let status = mongo.run("admin", r#"{"serverStatus": 1}"#);
    ["find", "insert", "update", "delete"].map(|command| {
        let total = &status["metrics"]["commands"][command]["total"];
        let number = total
            .as_i64()
            .or_else(|| total["$numberLong"].as_str()?.parse().ok());
        number.unwrap_or_default()
    })
}

/// Finds, inserts, updates and deletes that some work sends.
fn sent_by(mongo: &Mongo, work: impl FnOnce()) -> [i64; 4] {
    let before = sent(mongo);
    work();
    let after = sent(mongo);
    std::array::from_fn(|at| after[at] - before[at])
}

fn put(driver: &dyn Driver, keys: impl Iterator<Item = u32>) {
    let mut batch = Batch::new();
    keys.for_each(|key| batch.put(key.to_be_bytes(), b"a value"));
    driver.commit(batch).expect("committed");
}

#[test]
fn a_commit_is_six_commands_however_many_entries_it_has() {
    let Some(mongo) = Mongo::start() else { return };
    let driver = espalier_drivers::open(&mongo.url("")).expect("open");
    for keys in [0..1, 0..1, 1..1001] {
        let sent = sent_by(&mongo, || put(&*driver, keys));
        // The newest version, and the versions that are replaced; those that replace them, the
        // commit, its version; what it unveils and ends.
        assert_eq!(sent, [2, 3, 1, 0]);
    }
}

#[test]
fn a_commit_does_not_ask_for_what_was_just_read() {
    let Some(mongo) = Mongo::start() else { return };
    let driver = espalier_drivers::open(&mongo.url("")).expect("open");
    put(&*driver, 0..9);
    let key = 5_u32.to_be_bytes();
    let change = || {
        let mut batch = Batch::new();
        batch.require(key, Some(b"a value".to_vec()));
        batch.put(key, b"a value");
        driver.commit(batch).expect("committed");
    };
    assert_eq!(sent_by(&mongo, change), [2, 3, 1, 0], "not read before");
    let snapshot = driver.snapshot().expect("a snapshot");
    assert!(snapshot.get(&key).expect("read").is_some());
    assert_eq!(sent_by(&mongo, change), [1, 3, 1, 0], "read before");
}

/// All keys in one question, each range in one, sent at once; then whether that was the newest version.
#[test]
fn what_is_expected_comes_with_the_snapshot() {
    let Some(mongo) = Mongo::start() else { return };
    let driver = espalier_drivers::open(&mongo.url("")).expect("open");
    // Versions that were replaced are no reason to ask again.
    for _ in 0..5 {
        put(&*driver, 0..9);
    }
    let keys = [1_u32, 3, 5, 70].map(u32::to_be_bytes);
    let range = KeyRange::new(4_u32.to_be_bytes(), 6_u32.to_be_bytes());
    let expect = |expected: &mut Expected| {
        keys.iter().for_each(|key| expected.key(*key));
        expected.range(range.clone(), 2);
    };
    let sent = sent_by(&mongo, || {
        let snapshot = driver.snapshot_expecting(&expect).expect("a snapshot");
        let found = keys.map(|key| snapshot.get(&key).expect("read").is_some());
        assert_eq!(found, [true, true, true, false]);
    });
    assert_eq!(sent, [3, 0, 0, 0]);
}

/// What another process committed since is neither overlooked nor overwritten.
#[test]
fn what_was_just_read_is_not_what_another_process_wrote() {
    let Some(mongo) = Mongo::start() else { return };
    let url = mongo.url("");
    let open = || espalier_drivers::open(&url).expect("open");
    let (one, other) = (open(), open());
    put(&*one, 0..1);
    let key = 0_u32.to_be_bytes();
    for round in 0..5_u32 {
        let read = |driver: &dyn Driver| {
            let snapshot = driver.snapshot().expect("a snapshot");
            snapshot
                .get(&key)
                .expect("read")
                .map(|value| value.to_vec())
        };
        let before = read(&*one);
        let change = |driver: &dyn Driver, from: &Option<Vec<u8>>, to: u32| {
            let mut batch = Batch::new();
            batch.require(key, from.clone());
            batch.put(key, to.to_be_bytes());
            driver.commit(batch)
        };
        change(&*other, &before, 2 * round).expect("nobody was first");
        change(&*one, &before, 7).expect_err("the other was first");
        // Without a condition it follows what the other did.
        put(&*other, 1..2);
        put(&*one, 2..3);
        assert_eq!(read(&*one), Some((2 * round).to_be_bytes().to_vec()));
        change(&*one, &read(&*other), 2 * round + 1).expect("what it is");
        assert_eq!(read(&*other), read(&*one));
    }
    assert_eq!(one.check().expect("checked"), []);
}
