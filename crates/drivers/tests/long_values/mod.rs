//! Values that are too long for the rows of SQLite's table.

use espalier_drivers::open;
use espalier_keyspace::{Batch, Direction, ErrorKind, KeyExisted, KeyRange};
use rusqlite::Connection;

use crate::{filled, url};

/// A search reads every row that it passes in full, so long rows made every search slow.
#[test]
fn long_values_are_stored_in_their_own_table() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("data.db");
    let driver = open(&url(&file)).expect("opens");
    let other = Connection::open(&file).expect("the database");
    let number = |text: &str| -> i64 {
        let number = other.query_row(text, [], |row| row.get(0));
        number.expect("a number")
    };
    let change = |change: &dyn Fn(&mut Batch)| {
        let mut batch = Batch::new();
        change(&mut batch);
        driver.commit(batch).expect("a commit");
        assert_eq!(driver.check().expect("a check"), []);
        number("SELECT count(*) FROM long_values")
    };
    let long = |byte: u8, length: usize| vec![byte; length];
    let put = |key: &'static str, value: Vec<u8>| change(&|batch| batch.put(key, value.clone()));
    assert_eq!(put("key 10", long(1, 974)), 0, "just short enough");
    assert_eq!(put("key 10", long(1, 975)), 1);
    assert_eq!(put("key 11", long(2, 4 << 20)), 2);
    assert_eq!(put("key 12", long(3, 70_000)), 3);
    assert_eq!(
        put("key 11", long(4, 5_000)),
        3,
        "a long value replaces a long one"
    );
    assert_eq!(
        put("key 10", long(5, 3)),
        2,
        "a short value replaces a long one"
    );
    let filled = driver.write(&[], &mut |writer| {
        assert_eq!(writer.put_new(b"key 12", &long(6, 2_000))?, KeyExisted::Yes);
        writer.put_new(b"key new", &long(7, 2_000)).map(drop)
    });
    filled.expect("a write");
    assert_eq!(number("SELECT count(*) FROM long_values"), 3);
    let snapshot = driver.snapshot().expect("a snapshot");
    for (key, value) in [
        ("key 10", long(5, 3)),
        ("key 11", long(4, 5_000)),
        ("key 12", long(3, 70_000)),
        ("key new", long(7, 2_000)),
    ] {
        let got = snapshot.get(key.as_bytes()).expect("a get");
        assert!(got.as_deref() == Some(&*value), "{key}");
        let range = KeyRange::new(key, format!("{key}\0"));
        let mut cursor = snapshot.scan(&range, Direction::Forward).expect("a scan");
        assert!(cursor.next().expect("a step") == Some((key.as_bytes(), &*value)));
    }
    let overflow = "SELECT count(*) FROM dbstat WHERE name = 'entries' AND pagetype = 'overflow'";
    assert_eq!(number(overflow), 0);
    assert_eq!(change(&|batch| batch.delete("key 12")), 2);
    let range = KeyRange::new("key 1", "key 2");
    assert_eq!(change(&|batch| batch.delete_range(range.clone())), 1);
    assert_eq!(change(&|batch| batch.delete_range(KeyRange::all())), 0);
}

#[test]
fn a_long_value_that_is_missing_is_found() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("data.db");
    let driver = open(&url(&file)).expect("opens");
    let mut batch = Batch::new();
    batch.put("key 10", vec![1; 5_000]);
    driver.commit(batch).expect("a commit");
    let other = Connection::open(&file).expect("the database");
    let harm = "UPDATE long_values SET id = 77 WHERE id = 1";
    other.execute_batch(harm).expect("harm");
    let findings = driver.check().expect("a check");
    let places: Vec<_> = findings
        .iter()
        .map(|finding| finding.place.as_str())
        .collect();
    assert_eq!(places, ["key key 10", "the file"]);
    let snapshot = driver.snapshot().expect("a snapshot");
    let error = snapshot.get(b"key 10").expect_err("nothing to read");
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

/// Formats 1 and 2 have long values in the entries.
#[test]
fn a_file_of_an_earlier_format_is_upgraded() {
    for (options, version) in [("", 1), ("?readable=true", 2)] {
        let dir = tempfile::tempdir().expect("a directory");
        let file = filled(dir.path());
        drop(open(&format!("{}{options}", url(&file))).expect("opens"));
        let other = Connection::open(&file).expect("the database");
        let earlier = format!(
            "DROP TRIGGER entries_long_value; DROP TABLE long_values;
             ALTER TABLE entries DROP COLUMN long_value;
             UPDATE entries SET value = zeroblob(5000) WHERE key = CAST('key 7' AS BLOB);
             PRAGMA user_version = {version}"
        );
        other.execute_batch(&earlier).expect("an earlier file");
        drop(other);
        let driver = open(&url(&file)).expect("opens");
        let long = |byte| Some(vec![byte; 5_000]);
        let get = || {
            let snapshot = driver.snapshot().expect("a snapshot");
            let got = snapshot.get(b"key 7").expect("a get");
            got.map(std::borrow::Cow::into_owned)
        };
        assert!(get() == long(0));
        let mut batch = Batch::new();
        batch.put("key 7", vec![1; 5_000]);
        driver.commit(batch).expect("a commit");
        assert!(get() == long(1));
        assert_eq!(driver.usage().expect("usage").keys, 300);
        assert_eq!(driver.check().expect("a check"), []);
    }
}
