//! Bugs that were fixed: a named test for each.

mod fixture;

use std::io::BufReader;

use espalier_documents::{
    Collection, Declaration, Documents, ErrorKind, Event, FieldIndex, Kind, Policy, Query, Value,
    Version,
};
use fixture::{Fixture, PREFIX, on_every_engine};
use serde_json::{Value as Json, json};

fn field(name: &str, kind: Kind, field: &str) -> FieldIndex {
    FieldIndex {
        name: name.to_owned(),
        kind,
        fields: vec![field.to_owned()],
    }
}

fn made(documents: &Documents, indexes: Vec<FieldIndex>) -> Collection<Json> {
    let made = documents.configure("c", Policy::Uncached, indexes);
    made.expect("made")
}

fn names(documents: &Documents) -> Vec<String> {
    let listed = documents.list().expect("a list");
    let indexes = listed[0].indexes.iter();
    indexes.map(|index| index.name.clone()).collect()
}

fn unbuilt(documents: &Documents, index: FieldIndex) -> Collection<Json> {
    let declaration = Declaration::<Json>::new("c").fields(index);
    declaration.open_unbuilt(documents).expect("open")
}

/// 600 documents, an unbuilt unique index, and a change to a name that is not indexed yet: the duplicate in
/// document 599 cannot be detected at that time.
fn changed_while_built(fixture: &Fixture) -> (Collection<Json>, Collection<Json>) {
    let documents = fixture.documents();
    let writer = made(&documents, vec![]);
    let all = (0..600).map(|n| json!({ "name": format!("n{n}") }));
    writer.insert_many(all).expect("keys");
    let index = unbuilt(&documents, field("name", Kind::Unique, "/name"));
    writer
        .update(5, |held| held["name"] = json!("n599"))
        .expect("not detected yet");
    (writer, index)
}

/// A document that was changed during an index build removed the entry of another one.
#[test]
fn a_unique_index_is_exact_after_changes_while_it_was_built() {
    on_every_engine(|fixture| {
        let (writer, index) = changed_while_built(fixture);
        writer.delete(599).expect("deleted");
        index.build().expect("built");
        let name = writer.index("name").expect("an index");
        assert_eq!(name.key("n599").expect("a key"), Some(5));
        assert_eq!(writer.check().expect("checked"), []);
        let error = writer
            .insert(json!({"name": "n599"}))
            .expect_err("there already");
        assert_eq!(error.kind(), ErrorKind::Unique);
    });
}

#[test]
fn an_unbuilt_unique_index_with_duplicates_is_abandoned_and_both_are_named() {
    on_every_engine(|fixture| {
        let (writer, index) = changed_while_built(fixture);
        let error = index.build().expect_err("a clash");
        let text = error.to_string();
        assert!(text.starts_with("document 599: "), "{text}");
        assert!(
            text.contains("document 5 already has the value \"n599\""),
            "{text}"
        );
        assert_eq!(names(&fixture.documents()), Vec::<String>::new());
        writer.insert(json!({"name": "n1"})).expect("no index");
    });
}

/// `[]` matched everything, also in deletions.
#[test]
fn a_value_without_components_or_with_too_many_is_rejected() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        let c = made(&documents, vec![field("n", Kind::Partition, "/n")]);
        c.insert(json!({"n": 1})).expect("a key");
        let error = Value::try_from(&json!([])).expect_err("nothing");
        assert_eq!(error.kind(), ErrorKind::Argument);
        let index = c.index("n").expect("an index");
        let refused = |kind: Option<ErrorKind>| assert_eq!(kind, Some(ErrorKind::Argument));
        for value in [Value::default(), Value::of((1, 2)).expect("a value")] {
            refused(index.delete(&value).err().map(|error| error.kind()));
            refused(index.find(&value).err().map(|error| error.kind()));
            refused(index.keys(&value).err().map(|error| error.kind()));
            refused(index.get(&value).err().map(|error| error.kind()));
            refused(index.all([&value]).err().map(|error| error.kind()));
        }
        assert_eq!(c.count().expect("a count"), 1);
        assert_eq!(index.count(Query::all()).expect("a count"), 1);
    });
}

/// Indexes were dropped by a declaration that was then rejected.
#[test]
fn a_rejected_declaration_leaves_the_collection_unchanged() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        let old = field("old", Kind::Partition, "/n");
        let c = made(&documents, vec![old.clone()]);
        c.insert(json!({"n": 1, "o": {"a": 1}})).expect("a key");
        c.insert(json!({"n": 1})).expect("a key");
        let unique = field("new", Kind::Unique, "/n");
        let unfit = field("o", Kind::Partition, "/o");
        let replaced = field("old", Kind::Unique, "/n");
        for indexes in [vec![unique], vec![unfit], vec![replaced]] {
            let error = documents
                .configure("c", Policy::Cached, indexes)
                .err()
                .expect("refused");
            let text = error.to_string();
            assert!(text.contains("document "), "{text}");
            assert!(
                text.contains("the indexes of \"c\" are unchanged"),
                "{text}"
            );
            let info = c.info().expect("a collection");
            assert_eq!(info.policy, Policy::Uncached);
            assert_eq!(info.indexes.len(), 1);
            assert_eq!(info.indexes[0].name, "old");
            let index = c.index("old").expect("an index");
            assert_eq!(index.count(1).expect("a count"), 2);
            assert_eq!(c.check().expect("checked"), []);
        }
        c.insert(json!({"o": {}})).expect("no index of it");
        let year = field("year", Kind::Partition, "/year");
        let c = documents.configure("c", Policy::Cached, vec![year]);
        let info = c.expect("configured").info().expect("a collection");
        assert_eq!(info.policy, Policy::Cached);
        assert_eq!(names(&documents), ["year"]);
    });
}

#[test]
fn a_replaced_index_is_used_until_the_new_one_is_built() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        let c = made(&documents, vec![field("n", Kind::Partition, "/a")]);
        c.insert(json!({"a": 1, "b": 2})).expect("a key");
        let other = unbuilt(&documents, field("n", Kind::Partition, "/b"));
        let count = |value: i32| {
            let c = documents.open("c", None).expect("open");
            let index = c.index("n").expect("an index");
            index.count(value).expect("a count")
        };
        assert_eq!((count(1), count(2)), (1, 0));
        c.insert(json!({"a": 1, "b": 2})).expect("a key");
        assert_eq!((count(1), count(2)), (2, 0));
        other.build().expect("built");
        assert_eq!((count(1), count(2)), (0, 2));
        assert_eq!(c.check().expect("checked"), []);
    });
}

#[test]
fn an_interrupted_build_is_found_and_resumed_by_repair() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        let c = made(&documents, vec![]);
        c.insert(json!({"n": 1})).expect("a key");
        unbuilt(&documents, field("n", Kind::Partition, "/n"));
        assert_eq!(c.check().expect("checked").len(), 1);
        assert_eq!(c.repair().expect("repaired").left, []);
        let index = c.index("n").expect("an index");
        assert_eq!(index.count(1).expect("a count"), 1);
    });
}

/// Each import line was validated by itself.
#[test]
fn documents_exchange_unique_values_in_one_commit() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        let c = made(&documents, vec![field("n", Kind::Unique, "/n")]);
        let lines = b"{\"key\":0,\"document\":{\"n\":1}}\n{\"key\":1,\"document\":{\"n\":2}}\n";
        c.import(&mut BufReader::new(&lines[..])).expect("imported");
        let lines = b"{\"key\":0,\"document\":{\"n\":2}}\n{\"key\":1,\"document\":{\"n\":1}}\n";
        c.import(&mut BufReader::new(&lines[..])).expect("imported");
        assert_eq!(c.check().expect("checked"), []);
        // One takes a value and releases it, and another takes it.
        documents
            .transaction(|transaction| {
                transaction.put(&c, 7, json!({"n": 1}))?;
                transaction.put(&c, 7, json!({"n": 9}))?;
                transaction.put(&c, 8, json!({"n": 2})).map(drop)?;
                transaction.delete(&c, 8).map(drop)
            })
            .expect("committed");
        assert_eq!(c.check().expect("checked"), []);
        let error = documents
            .transaction(|transaction| {
                transaction.put(&c, 7, json!({"n": 1}))?;
                transaction.put(&c, 7, json!({"n": 9}))?;
                transaction.put(&c, 8, json!({"n": 1})).map(drop)
            })
            .expect_err("two have it");
        assert_eq!(error.kind(), ErrorKind::Unique);
        assert_eq!(c.check().expect("checked"), []);
        let lines = b"{\"key\":5,\"document\":{\"n\":50}}\n{\"key\":6,\"document\":{\"n\":50}}\n";
        let error = c
            .import(&mut BufReader::new(&lines[..]))
            .expect_err("a clash");
        assert!(error.to_string().contains("line 2: "), "{error}");
    });
}

#[test]
fn a_line_of_an_import_is_an_object_with_known_members() {
    let fixture = Fixture::new("memory:");
    let c = made(&fixture.documents(), vec![]);
    c.insert(json!({"kept": true})).expect("a key");
    for (line, message) in [
        (r#"[0,{"n":9}]"#, "a line is {\"document\":...}"),
        (r#"{"n":9}"#, "unknown member \"n\"; a line is"),
        (r#"{"Key":0,"document":{}}"#, "unknown member \"Key\""),
        (r#"{"key":null,"document":{}}"#, "null"),
        (r#"{"key":1}"#, "no document; a line is"),
        (
            r#"{"document":{"n":1,"n":2}}"#,
            "/document/n: the member is present twice",
        ),
        (
            r#"{"document":{"n":18446744073709551616}}"#,
            "/document/n: the integer",
        ),
        (
            r#"{"key":1,"key":2,"document":{}}"#,
            "\"key\" is present twice",
        ),
    ] {
        let error = c
            .import(&mut BufReader::new(line.as_bytes()))
            .expect_err(line);
        assert!(error.to_string().contains("line 1"), "{error}");
        assert!(error.to_string().contains(message), "{error}");
    }
    assert_eq!(c.count().expect("a count"), 1);
    let marked = "\u{feff}{\"document\":{}}\n";
    let imported = c.import(&mut BufReader::new(marked.as_bytes()));
    assert_eq!(imported.expect("imported").documents, 1);
}

#[test]
fn null_among_tags_is_ignored() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        let collection = made(&documents, vec![field("tag", Kind::Tags, "/tags")]);
        let tagged = |tags: Json| collection.insert(json!({ "tags": tags }));
        let key = tagged(json!([null, "fast", null])).expect("a tag next to null");
        tagged(json!([null])).expect("no tag");
        let index = collection.index("tag").expect("an index");
        assert_eq!(index.keys("fast").expect("keys"), [key]);
        assert_eq!(index.count(Query::all()).expect("a count"), 1);
        let error = tagged(json!([[]])).expect_err("an array is no tag");
        assert_eq!(error.kind(), ErrorKind::Document);
        assert_eq!(collection.check().expect("a check"), []);
    });
}

#[test]
fn accepted_documents_can_be_exported_and_imported_at_any_depth() {
    let fixture = Fixture::new("memory:");
    let c = made(&fixture.documents(), vec![]);
    let deep = |depth: usize| {
        let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        serde_json::from_str::<Json>(&text).expect("JSON")
    };
    c.insert(deep(120)).expect("a key");
    let error = c.insert(deep(121)).expect_err("too deep");
    assert_eq!(error.kind(), ErrorKind::Limit);
    let flat = vec!["\\\"[{".to_owned(); 500];
    c.insert(json!(flat)).expect("strings are no arrays");
    let mut text = Vec::new();
    c.export(&mut text).expect("exported");
    c.import(&mut BufReader::new(&text[..])).expect("imported");
}

/// The row of a document in the first collection of a fixture.
fn row(key: u8) -> Vec<u8> {
    let number: &[u8] = if key == 0 { &[0x14] } else { &[0x15, key] };
    [PREFIX, &[2, 0x15, 1], number].concat()
}

fn write(fixture: &Fixture, key: Vec<u8>, value: &[u8]) {
    let mut batch = espalier_keyspace::Batch::new();
    batch.put(key, value.to_vec());
    fixture.driver().commit(batch).expect("written");
}

#[test]
fn repair_keeps_unreadable_documents_which_can_be_replaced_and_removed() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        let indexes = vec![field("n", Kind::Unique, "/n"), field("k", Kind::Tags, "/k")];
        let c = made(&documents, indexes);
        for n in 0..3 {
            c.insert(json!({"n": n, "k": ["a", "b"]})).expect("a key");
        }
        write(fixture, row(0), b"\x01\x01{broken");
        write(fixture, row(1), b"\x01\x01{broken");
        let count = [PREFIX, &[2, 0x15, 1, 0xff, 2]].concat();
        write(fixture, count, &7_i64.to_le_bytes());
        let repaired = c.repair().expect("repaired");
        assert_eq!(repaired.left.len(), 2, "{:?}", repaired.left);
        assert_eq!(c.count().expect("a count"), 3);
        c.put(0, json!({"n": 9})).expect("put");
        assert_eq!(c.remove_many(&[1, 77]).expect("removed"), [77]);
        assert_eq!(c.count().expect("a count"), 2);
        assert_eq!(c.check().expect("checked"), []);
        let keyword = c.index("k").expect("an index");
        assert_eq!(keyword.keys("a").expect("keys"), [2]);
    });
}

#[test]
fn a_damaged_unique_entry_is_repaired_in_one_run() {
    on_every_engine(|fixture| {
        let c = made(&fixture.documents(), vec![field("n", Kind::Unique, "/n")]);
        c.insert(json!({"n": "a"})).expect("a key");
        let entry = [PREFIX, &[3, 0x15, 1, 0x15, 1, 2, b'a', 0]].concat();
        let snapshot = fixture.driver().snapshot().expect("a snapshot");
        assert!(snapshot.get(&entry).expect("read").is_some());
        drop(snapshot);
        write(fixture, entry, b"\xfe");
        let repaired = c.repair().expect("repaired");
        assert_eq!(repaired.left, []);
        let index = c.index("n").expect("an index");
        assert_eq!(index.key("a").expect("a key"), Some(0));
    });
}

#[test]
fn a_pointer_is_one_of_rfc_6901() {
    let documents = Fixture::new("memory:").documents();
    let bad = field("a", Kind::Partition, "/x~2");
    let error = documents
        .configure("c", Policy::Uncached, vec![bad])
        .err()
        .expect("no pointer");
    assert_eq!(error.kind(), ErrorKind::Argument);
    made(&documents, vec![field("a", Kind::Partition, "/x~1y~0")]);
}

#[test]
fn a_damaged_definition_does_not_hide_other_collections() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        made(&documents, vec![]);
        write(fixture, [PREFIX, &[0, 2, b'x', 0]].concat(), b"{broken");
        assert_eq!(documents.list().expect("a list").len(), 1);
        let damaged = documents.damaged().expect("findings");
        assert_eq!(damaged[0].place, "x");
        let other = documents.configure("d", Policy::Uncached, vec![]);
        other.expect("configured");
    });
}

/// A feed waited for a version that never came, and stayed silent after its collection was recreated.
#[test]
fn a_feed_after_a_future_version_begins_with_a_gap_and_follows_its_collection() {
    on_every_engine(|fixture| {
        let wait = std::time::Duration::from_secs(20);
        let documents = fixture.documents();
        let c = made(&documents, vec![]);
        let mut feed = c.watch(Some(Version(u64::MAX))).expect("a feed");
        let Some(Event::Gap { version }) = feed.next(wait).expect("an event") else {
            panic!("no gap");
        };
        assert_eq!(version, feed.begin());
        documents.remove(c.name()).expect("removed");
        let made_anew = made(&documents, vec![]);
        let key = made_anew.insert(json!({"n": 1})).expect("a key");
        loop {
            match feed.next(wait).expect("an event") {
                Some(Event::Gap { .. }) => {}
                Some(Event::Commit { changes, .. }) => {
                    assert_eq!(changes[0].0, key);
                    break;
                }
                None => panic!("the feed is silent"),
            }
        }
        documents.remove(c.name()).expect("removed");
        let gone = loop {
            match feed.next(wait) {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the feed is silent"),
                Err(error) => break error,
            }
        };
        assert_eq!(gone.kind(), ErrorKind::Missing);
    });
}
