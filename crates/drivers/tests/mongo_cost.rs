//! The number of commands that the MongoDB driver sends: each is a round trip.
#![cfg(feature = "mongo")]

use std::thread;
use std::time::Duration;

use espalier_keyspace::{Batch, Direction, Driver, ErrorKind, KeyRange, PrefetchList};
use espalier_testkit::servers::Mongo;

/// The numbers of finds, inserts, updates and deletes that the server has received.
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

/// The numbers of finds, inserts, updates and deletes that `work` sends.
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
fn a_commit_is_one_command_and_a_large_one_is_a_few() {
    let Some(mongo) = Mongo::start() else { return };
    let driver = espalier_drivers::open(&mongo.url("")).expect("open");
    for keys in [0..1, 0..1, 1..1001] {
        let sent = sent_by(&mongo, || put(&*driver, keys));
        assert_eq!(sent, [0, 1, 0, 0]);
    }
    // The find checks that the newest version still is the newest. The inserts are the draft, the pages (128 KiB,
    // then twice that, and the rest), and the commit.
    thread::sleep(Duration::from_millis(100));
    let sent = sent_by(&mongo, || put(&*driver, 0..40_000));
    assert_eq!(sent, [1, 5, 0, 0]);
}

/// The changes since the last tree are in memory, and so are the pages that were read last.
#[test]
fn a_commit_does_not_read_cached_data() {
    let Some(mongo) = Mongo::start() else { return };
    let url = mongo.url("tail_bytes=1024");
    let driver = espalier_drivers::open(&url).expect("open");
    put(&*driver, 0..1000);
    let change = |driver: &dyn Driver, key: u32| {
        let mut batch = Batch::new();
        batch.require(key.to_be_bytes(), Some(b"a value".to_vec()));
        batch.delete(key.to_be_bytes());
        driver.commit(batch).expect("committed");
    };
    assert_eq!(sent_by(&mongo, || change(&*driver, 5)), [0, 1, 0, 0]);
    let other = espalier_drivers::open(&url).expect("open");
    // The root and a leaf, or the only page.
    let [finds, inserts, ..] = sent_by(&mongo, || change(&*other, 6));
    assert!((1..=2).contains(&finds) && inserts == 1, "{finds} finds");
    assert_eq!(sent_by(&mongo, || change(&*other, 7)), [0, 1, 0, 0]);
}

/// A snapshot with expected keys reads the newest version, and prefetches the pages that are not cached.
#[test]
fn a_snapshot_prefetches_the_expected_rows() {
    let Some(mongo) = Mongo::start() else { return };
    let url = mongo.url("page_bytes=4096&tail_bytes=1024");
    let driver = espalier_drivers::open(&url).expect("open");
    put(&*driver, 0..10_000);
    let keys = [1_u32, 3000, 5000, 20_000].map(u32::to_be_bytes);
    let range = KeyRange::new(7000_u32.to_be_bytes(), 7002_u32.to_be_bytes());
    let expect = |expected: &mut PrefetchList| {
        keys.iter().for_each(|key| expected.key(*key));
        expected.range(range.clone(), 2);
    };
    let read = |driver: &dyn Driver| {
        let snapshot = driver.snapshot_with_prefetch(&expect).expect("a snapshot");
        let found = keys.map(|key| snapshot.get(&key).expect("read").is_some());
        assert_eq!(found, [true, true, true, false]);
        let mut rows = snapshot.scan(&range, Direction::Forward).expect("a scan");
        assert!(rows.next().expect("read").is_some());
    };
    assert_eq!(
        sent_by(&mongo, || read(&*driver)),
        [1, 0, 0, 0],
        "just written"
    );
    let other = espalier_drivers::open(&url).expect("open");
    // The root, and five leaves.
    assert_eq!(
        sent_by(&mongo, || read(&*other)),
        [7, 0, 0, 0],
        "not read yet"
    );
    assert_eq!(sent_by(&mongo, || read(&*other)), [1, 0, 0, 0], "just read");
}

/// A process that commits alone does not read whether there is a newer version than its own.
#[test]
fn a_snapshot_to_change_reads_nothing_after_two_own_commits() {
    let Some(mongo) = Mongo::start() else { return };
    let url = mongo.url("");
    let open = || espalier_drivers::open(&url).expect("open");
    let (driver, other) = (open(), open());
    let change = |driver: &dyn Driver| {
        let view = driver.snapshot_for_update(&|_| {}).expect("a view");
        let mut batch = Batch::new();
        let value = view.get(b"n").expect("read");
        batch.require(b"n", value.map(|value| value.into_owned()));
        batch.put(b"n", view.version().0.to_be_bytes());
        driver.commit(batch)
    };
    let sent = |driver: &dyn Driver| {
        sent_by(&mongo, || {
            change(driver).expect("no conflict");
        })
    };
    let own = [(); 4].map(|()| sent(&*driver));
    let [read, presumed] = [[1, 1, 0, 0], [0, 1, 0, 0]];
    // The first commit does not follow one of this process.
    assert_eq!(own, [read, presumed, presumed, presumed]);
    // A snapshot that was just read as the newest is not checked again.
    let newest = other.snapshot().expect("a snapshot").version();
    let sent = sent_by(&mongo, || {
        assert!(other.is_current(newest).expect("current"))
    });
    assert_eq!(sent, [0, 0, 0, 0]);
    change(&*other).expect("it reads the newest");
    change(&*driver).expect_err("the other one was first");
    // With alternating commits, neither presumes anything.
    for _ in 0..3 {
        change(&*driver).expect("it reads the newest");
        change(&*other).expect("it reads the newest");
    }
}

/// A commit writes one page per level of the tree, and not all of its pages.
#[test]
fn a_new_tree_writes_only_the_changed_path() {
    let Some(mongo) = Mongo::shared() else { return };
    let url = mongo.url("page_bytes=1024&tail_bytes=1024");
    let database = Mongo::database(&url);
    let driver = espalier_drivers::open(&url).expect("open");
    put(&*driver, 0..20_000);
    let pages = || {
        let counted = mongo.run(database, r#"{"count": "espalier.pages"}"#);
        counted["n"].as_i64().expect("a number")
    };
    let before = pages();
    let mut batch = Batch::new();
    batch.put(77_u32.to_be_bytes(), vec![7; 2000]);
    driver.commit(batch).expect("committed");
    // The leaf is split around the long row.
    let written = pages() - before;
    assert!((3..=6).contains(&written), "{written} pages");
}

/// A commit of another process since the last read is neither overlooked nor overwritten.
#[test]
fn a_commit_of_another_process_conflicts_with_a_stale_read() {
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
        change(&*other, &before, 2 * round).expect("no conflict");
        change(&*one, &before, 7).expect_err("the other was first");
        // Without a condition, a commit is applied after that of the other process.
        put(&*other, 1..2);
        put(&*one, 2..3);
        assert_eq!(read(&*one), Some((2 * round).to_be_bytes().to_vec()));
        change(&*one, &read(&*other), 2 * round + 1).expect("no conflict");
        assert_eq!(read(&*other), read(&*one));
    }
    assert_eq!(one.check().expect("checked"), []);
}

/// A snapshot for a change shows a committed state. The driver reports whether it is the newest, and a commit with
/// preconditions fails if it is not.
#[test]
fn a_snapshot_to_change_that_is_stale_is_detected() {
    let Some(mongo) = Mongo::shared() else { return };
    let url = mongo.url("");
    let drivers = [(); 2].map(|()| espalier_drivers::open(&url).expect("open"));
    let view = |driver: &dyn Driver| {
        let expect = |expected: &mut PrefetchList| expected.key(b"n");
        let view = driver.snapshot_for_update(&expect).expect("a view");
        let value = view.get(b"n").expect("read");
        (view.version(), value.map(|value| value.into_owned()))
    };
    let mut newest = None;
    for round in 0..20_u8 {
        // The drivers alternate after a few commits each.
        let driver = &drivers[usize::from(round % 8 < 4)];
        let mut tries = 0;
        loop {
            let (version, value) = view(&**driver);
            let is_current = driver.is_current(version).expect("an answer");
            assert!(value == newest || !is_current, "{round}: {value:?}");
            let mut batch = Batch::new();
            batch.require(b"n", value.clone());
            batch.put(b"n", [round]);
            match driver.commit(batch) {
                Ok(_) => {
                    assert_eq!(value, newest, "{round}: an old state was changed");
                    break;
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "{error}"),
            }
            tries += 1;
            assert!(tries < 3, "{round}: {value:?} again");
        }
        newest = Some(vec![round]);
        assert_eq!(view(&**driver).1, newest, "{round}: its own commit");
    }
}
