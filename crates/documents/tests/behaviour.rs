//! The behaviour of collections, one test for each property, on every engine.

mod fixture;

use std::io::BufReader;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use espalier_documents::{
    Changed, Declaration, ErrorKind, Event, FieldIndex, Kind, Policy, Query, Selection, Trigger,
    Value,
};
use fixture::{Car, Fixture, POLICIES, PREFIX, car, cars, on_every_engine};
use serde_json::{Value as Json, json};

#[test]
fn a_duplicate_of_a_unique_value_is_rejected_before_any_write() {
    on_every_engine(|fixture| {
        for &policy in POLICIES {
            let documents = fixture.documents();
            let cars = cars(policy).open(&documents).expect("open");
            assert_eq!(cars.insert(car("a", "red", &[], 1)).expect("a key"), 0);
            let before = cars.sequence().expect("a number");
            let error = cars
                .insert(car("a", "blue", &["x"], 2))
                .expect_err("a clash");
            assert_eq!(
                error.to_string(),
                r#"index "name" is unique, but document 0 already has the value "a""#
            );
            assert_eq!(cars.sequence().expect("a number"), before);
            assert_eq!(
                cars.index("color")
                    .expect("an index")
                    .count("blue")
                    .expect("a count"),
                0
            );
            assert_eq!(cars.insert(car("b", "blue", &[], 2)).expect("a key"), 1);
            if policy == Policy::Ram {
                continue;
            }
            documents.remove("cars").expect("removed");
        }
    });
}

#[test]
fn two_documents_exchange_unique_values_in_one_transaction() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        let cars = cars(Policy::Cached).open(&documents).expect("open");
        cars.insert_many([car("a", "red", &[], 1), car("b", "blue", &[], 2)])
            .expect("keys");
        documents
            .transaction(|transaction| {
                let first = transaction.delete(&cars, 0)?.expect("a car");
                transaction.update(&cars, 1, |held| held.name = "a".to_owned())?;
                transaction.put(
                    &cars,
                    0,
                    Car {
                        name: "b".to_owned(),
                        ..(*first).clone()
                    },
                )?;
                Ok(())
            })
            .expect("committed");
        let name = cars.index("name").expect("an index");
        assert_eq!(name.key("a").expect("a key"), Some(1));
        assert_eq!(name.key("b").expect("a key"), Some(0));
        assert_eq!(cars.check().expect("checked"), []);
    });
}

#[test]
fn a_transaction_over_collections_is_all_or_nothing() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        let cars = cars(Policy::Uncached).open(&documents).expect("open");
        let notes = Declaration::<String>::new("notes")
            .policy(Policy::Ram)
            .open(&documents);
        let notes = notes.expect("open");
        let refused = documents.transaction(|transaction| {
            transaction.insert(&notes, "one".to_owned())?;
            transaction.insert(&cars, car("a", "", &[], 1))?;
            transaction.insert(&cars, car("a", "", &[], 2))
        });
        assert_eq!(refused.expect_err("a clash").kind(), ErrorKind::Unique);
        assert_eq!(
            (
                cars.count().expect("a count"),
                notes.count().expect("a count")
            ),
            (0, 0)
        );
        documents
            .transaction(|transaction| {
                transaction.insert(&notes, "one".to_owned())?;
                transaction.insert(&cars, car("a", "", &[], 1))
            })
            .expect("committed");
        assert_eq!(
            (
                cars.count().expect("a count"),
                notes.count().expect("a count")
            ),
            (1, 1)
        );
        let nested = documents.transaction(|_| cars.insert(car("z", "", &[], 1)));
        assert_eq!(
            nested.expect_err("a deadlock otherwise").kind(),
            ErrorKind::Argument
        );
        cars.insert(car("z", "", &[], 1))
            .expect("the turn was given back");
    });
}

#[test]
fn new_declared_indexes_are_built_and_undeclared_ones_dropped() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        let plain = Declaration::<Car>::new("cars")
            .open(&documents)
            .expect("open");
        let all = (0..1000).map(|n| car(&format!("c{n}"), ["red", "blue"][n % 2], &[], n as i32));
        plain.insert_many(all).expect("keys");
        for &policy in &POLICIES[..4] {
            let cars = cars(policy).open(&fixture.documents()).expect("open");
            assert_eq!(
                cars.index("color")
                    .expect("an index")
                    .count("red")
                    .expect("a count"),
                500
            );
            assert_eq!(
                cars.index("name")
                    .expect("an index")
                    .key("c7")
                    .expect("a key"),
                Some(7)
            );
            assert_eq!(cars.check().expect("checked"), []);
            let error = plain
                .insert(car("x", "", &[], 0))
                .expect_err("other indexes");
            assert_eq!(error.kind(), ErrorKind::Definition);
            let fewer =
                Declaration::<Car>::new("cars").unique("name", |car: &Car| car.name.clone());
            let fewer = fewer.open(&fixture.documents()).expect("open");
            assert_eq!(
                fewer.index("color").err().expect("dropped").kind(),
                ErrorKind::Missing
            );
            assert_eq!(fewer.check().expect("checked"), []);
        }
    });
}

#[test]
fn a_unique_index_over_duplicates_is_abandoned_and_names_them() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        let plain = Declaration::<Car>::new("cars")
            .open(&documents)
            .expect("open");
        plain
            .insert_many((0..600).map(|n| car(&format!("c{}", n % 599), "", &[], 0)))
            .expect("keys");
        let error = cars(Policy::Uncached)
            .open(&documents)
            .err()
            .expect("a clash");
        assert_eq!(error.clash().expect("a clash").key, 0);
        assert_eq!(error.clash().expect("a clash").value, "\"c0\"");
        let names: Vec<_> = documents.list().expect("a list")[0]
            .indexes
            .iter()
            .map(|index| index.name.clone())
            .collect();
        assert!(!names.contains(&"name".to_owned()), "{names:?}");
    });
}

#[test]
fn an_interrupted_build_resumes_while_others_write() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        let field = |name: &str, kind, field: &str| FieldIndex {
            name: name.to_owned(),
            kind,
            fields: vec![field.to_owned()],
        };
        let writer = documents
            .configure("cars", Policy::Uncached, vec![])
            .expect("made");
        writer
            .insert_many((0..2000).map(|n| json!({"n": n, "half": n % 2})))
            .expect("keys");
        let half = field("half", Kind::Partition, "/half");
        let unbuilt = Declaration::<Json>::new("cars").fields(half.clone());
        let unbuilt = unbuilt.open_unbuilt(&documents).expect("open");
        assert_eq!(
            unbuilt.index("half").err().expect("unbuilt").kind(),
            ErrorKind::Building
        );
        // The writer sees the index and maintains it.
        writer.insert(json!({"n": 2000, "half": 0})).expect("a key");
        writer
            .update(0, |car| car["half"] = json!(1))
            .expect("updated");
        writer.delete(2).expect("deleted");
        std::thread::scope(|scope| {
            let built = scope.spawn(|| unbuilt.build());
            for n in 0..200_u64 {
                writer.delete(1000 + n).expect("deleted");
                writer
                    .insert(json!({"n": n, "half": n % 2}))
                    .expect("a key");
            }
            built.join().expect("no panic").expect("built");
        });
        assert_eq!(unbuilt.check().expect("checked"), []);
        let half = writer.index("half").expect("an index");
        assert_eq!(
            half.count(0).expect("a count") + half.count(1).expect("a count"),
            2000
        );
    });
}

#[test]
fn a_program_without_the_index_function_can_read_but_not_write() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        let typed = cars(Policy::Cached).open(&documents).expect("open");
        typed
            .insert(car("a", "red", &["x", "y"], 1))
            .expect("a key");
        let any = fixture.documents().open("cars", None).expect("open");
        let found = any
            .index("keyword")
            .expect("an index")
            .all(["x", "y"])
            .expect("found");
        assert_eq!(found[0].1["name"], "a");
        let error = any
            .insert(json!({"name": "b"}))
            .expect_err("unknown indexes");
        assert!(
            error.to_string().contains("is declared by a program"),
            "{error}"
        );
        assert_eq!(any.check().expect("checked"), []);
    });
}

#[derive(Default)]
struct Log {
    calls: Mutex<Vec<String>>,
    checks: AtomicUsize,
}

struct Guard(Arc<Log>);

impl Trigger<Car> for Guard {
    fn check(&self, change: &Changed<'_, Car>) -> Result<(), String> {
        self.0.checks.fetch_add(1, Ordering::SeqCst);
        match change.new {
            Some(car) if car.year < 0 => Err(format!("{} is older than cars", car.year)),
            _ => Ok(()),
        }
    }

    fn changed(&self, change: &Changed<'_, Car>) {
        let what = match (change.old, change.new) {
            (None, _) => "insert",
            (_, Some(_)) => "update",
            (_, None) => "delete",
        };
        self.0
            .calls
            .lock()
            .expect("a lock")
            .push(format!("{what} {}", change.key));
    }
}

#[test]
fn triggers_can_reject_and_are_called_after_the_commit() {
    on_every_engine(|fixture| {
        let log = Arc::new(Log::default());
        let documents = fixture.documents();
        let cars = cars(Policy::Recent {
            entries: 2,
            bytes: 1000,
        });
        let cars = cars
            .trigger(Guard(Arc::clone(&log)))
            .open(&documents)
            .expect("open");
        cars.insert(car("a", "", &[], 1)).expect("a key");
        let error = cars.insert(car("b", "", &[], -1)).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::RejectedByTrigger);
        assert!(
            error.to_string().contains("-1 is older than cars"),
            "{error}"
        );
        cars.update(0, |car| car.year = 5).expect("updated");
        cars.delete(0).expect("deleted");
        assert_eq!(
            *log.calls.lock().expect("a lock"),
            ["insert 0", "update 0", "delete 0"]
        );
        assert_eq!(cars.count().expect("a count"), 0);
        assert_eq!(log.checks.load(Ordering::SeqCst), 4);
    });
}

#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct NewCar {
    title: String,
}

fn new_cars() -> Declaration<NewCar> {
    Declaration::<NewCar>::new("cars")
        .unique("title", |car| car.title.clone())
        .schema(3, |from, mut json| match from {
            1 => {
                json["title"] = json["name"].take();
                Ok(json)
            }
            2 => {
                let title = json["title"].as_str().ok_or("no title")?;
                json["title"] = Json::from(title.to_uppercase());
                Ok(json)
            }
            other => Err(format!("version {other} is unknown")),
        })
}

#[test]
fn a_later_schema_version_migrates_and_an_earlier_one_is_rejected() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        let old = cars(Policy::Cached).open(&documents).expect("open");
        old.insert_many((0..700).map(|n| car(&format!("c{n}"), "red", &[], n)))
            .expect("keys");
        let new = new_cars()
            .policy(Policy::Indexed)
            .open(&documents)
            .expect("migrated");
        let found = new
            .index("title")
            .expect("an index")
            .get("C699")
            .expect("read");
        assert_eq!(found.expect("a car").title, "C699");
        assert_eq!(new.check().expect("checked"), []);
        assert_eq!(new.count().expect("a count"), 700);
        let error = old
            .insert(car("x", "", &[], 0))
            .expect_err("an old program");
        assert_eq!(error.kind(), ErrorKind::Definition);
        let error = cars(Policy::Cached)
            .open(&documents)
            .err()
            .expect("an old program");
        assert!(error.to_string().contains("schema version 3"), "{error}");
    });
}

#[test]
fn faults_are_found_and_repaired() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        let cars = cars(Policy::Uncached).open(&documents).expect("open");
        cars.insert_many((0..50).map(|n| car(&format!("c{n}"), "red", &["k"], n)))
            .expect("keys");
        assert_eq!(cars.check().expect("checked"), []);
        // Damages every third row below the prefix, except definitions and documents.
        let driver = fixture.driver();
        let mut rows = Vec::new();
        {
            let snapshot = driver.snapshot().expect("a snapshot");
            let range = espalier_keyspace::KeyRange::prefix(&[PREFIX, &[3]].concat());
            let mut cursor = snapshot
                .scan(&range, espalier_keyspace::Direction::Forward)
                .expect("a scan");
            while let Some((key, _)) = cursor.next().expect("a row") {
                rows.push(key.to_vec());
            }
        }
        let mut batch = espalier_keyspace::Batch::new();
        for row in rows.iter().step_by(3) {
            batch.delete(row.clone());
        }
        let mut stray = rows[0].clone();
        stray.push(7);
        batch.put(stray, b"\x15\x31".to_vec());
        let count = [PREFIX, &[2, 0x15, 1, 0xff, 2]].concat();
        batch.put(count, 7_i64.to_le_bytes().to_vec());
        driver.commit(batch).expect("broken");
        let found = cars.check().expect("checked");
        assert!(found.len() > 60, "{found:?}");
        assert!(
            found
                .iter()
                .any(|finding| finding.problem.contains("the stored count is 7")),
            "{found:?}"
        );
        let repaired = cars.repair().expect("repaired");
        assert_eq!(repaired.left, []);
        assert_eq!(repaired.mended.len(), found.len());
        assert_eq!(cars.check().expect("checked"), []);
        assert_eq!(cars.count().expect("a count"), 50);
        assert_eq!(
            cars.index("name")
                .expect("an index")
                .key("c49")
                .expect("a key"),
            Some(49)
        );
    });
}

#[test]
fn documents_are_exported_and_imported_and_errors_name_the_line() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        let from = cars(Policy::Cached).open(&documents).expect("open");
        from.insert_many((0..2500).map(|n| car(&format!("c{n}"), "é/\n", &["k"], n)))
            .expect("keys");
        from.delete(3).expect("deleted");
        let mut text = Vec::new();
        assert_eq!(from.export(&mut text).expect("exported"), 2499);
        let other = Fixture::new("memory:").documents();
        let to = cars(Policy::Indexed).open(&other).expect("open");
        let imported = to.import(&mut BufReader::new(&text[..])).expect("imported");
        assert_eq!(imported.documents, 2499);
        assert_eq!(
            from.list(Selection::all()).expect("a list"),
            to.list(Selection::all()).expect("a list")
        );
        let bad = b"\n{\"document\":{\"name\":\"new\",\"color\":null,\"keywords\":[],\"year\":1}}\n{\"document\":5}\n";
        let error = to
            .import(&mut BufReader::new(&bad[..]))
            .expect_err("no car");
        assert_eq!(error.kind(), ErrorKind::Syntax);
        assert!(
            error
                .to_string()
                .starts_with("no documents were imported: line 3, column"),
            "{error}"
        );
        let twice = b"{\"document\":{\"name\":\"c7\",\"color\":null,\"keywords\":[],\"year\":1}}\n";
        let error = to
            .import(&mut BufReader::new(&twice[..]))
            .expect_err("a clash");
        assert!(
            error
                .to_string()
                .contains("line 1: index \"name\" is unique"),
            "{error}"
        );
    });
}

#[test]
fn a_feed_reports_changes_of_all_handles() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        let one = cars(Policy::Uncached).open(&documents).expect("open");
        let other = cars(Policy::Uncached)
            .open(&fixture.documents())
            .expect("open");
        let mut feed = one.watch(None).expect("a feed");
        other.insert(car("a", "", &[], 1)).expect("a key");
        one.delete(0).expect("deleted");
        let wait = Duration::from_secs(5);
        let Some(Event::Commit { changes, .. }) = feed.next(wait).expect("fed") else {
            panic!("no insert");
        };
        assert_eq!(
            (changes[0].0, &*changes[0].1.as_ref().expect("a car").name),
            (0, "a")
        );
        let Some(Event::Commit { changes, .. }) = feed.next(wait).expect("fed") else {
            panic!("no deletion");
        };
        assert!(changes[0].0 == 0 && changes[0].1.is_none());
        assert!(feed.next(Duration::from_millis(1)).expect("fed").is_none());
    });
}

#[test]
fn every_policy_follows_the_commits_of_other_handles() {
    on_every_engine(|fixture| {
        let writer = cars(Policy::Uncached)
            .open(&fixture.documents())
            .expect("open");
        writer.insert(car("a", "red", &[], 1)).expect("a key");
        for &policy in &POLICIES[..4] {
            let reader = cars(policy).open(&fixture.documents()).expect("open");
            assert_eq!(reader.get(0).expect("read").expect("a car").year, 1);
            writer.update(0, |car| car.year = 2).expect("updated");
            let key = writer.insert(car("b", "red", &[], 1)).expect("a key");
            reader.refresh().expect("refreshed");
            assert_eq!(reader.get(0).expect("read").expect("a car").year, 2);
            let color = reader.index("color").expect("an index");
            assert_eq!(color.count("red").expect("a count"), 2);
            writer.delete(key).expect("deleted");
            // Without `refresh`, within the documented time and some more for a loaded machine.
            let end = std::time::Instant::now() + Duration::from_secs(5);
            while color.count("red").expect("a count") != 1 {
                assert!(std::time::Instant::now() < end, "{policy} does not follow");
                std::thread::sleep(Duration::from_millis(1));
            }
            writer.update(0, |car| car.year = 1).expect("updated");
        }
    });
}

#[test]
fn a_range_of_an_index_is_in_order_for_all_types() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        let field = FieldIndex {
            name: "n".to_owned(),
            kind: Kind::Partition,
            fields: vec!["/n".to_owned()],
        };
        for policy in [Policy::Uncached, Policy::Cached] {
            let name = format!("numbers-{policy}");
            let numbers = documents
                .configure(&name, policy, vec![field.clone()])
                .expect("made");
            let all = json!([
                3,
                -1.5,
                2.5,
                10,
                -2,
                1e30,
                "a",
                true,
                18_446_744_073_709_551_615_u64,
                null
            ]);
            for n in all.as_array().expect("an array") {
                numbers.insert(json!({ "n": n })).expect("a key");
            }
            let index = numbers.index("n").expect("an index");
            let keys = index.keys(Query::range(-1.5..=10.0)).expect("keys");
            assert_eq!(keys, [1, 2, 0, 3]);
            assert_eq!(index.keys(Query::range(3..)).expect("keys").len(), 5);
            assert_eq!(index.count(Query::all()).expect("a count"), 9);
            let values = index.values(None, 3).expect("values");
            let values: Vec<_> = values
                .iter()
                .map(|listed| listed.value.to_string())
                .collect();
            assert_eq!(values, ["\"a\"", "-2", "-1.5"]);
            let error = numbers.insert(json!({"n": {}})).expect_err("an object");
            assert!(
                error
                    .to_string()
                    .contains("index \"n\": /n: an object cannot be indexed"),
                "{error}"
            );
        }
    });
}

#[test]
fn exceeded_limits_are_errors() {
    let fixture = Fixture::new("memory:");
    let documents = fixture.documents();
    let cars = cars(Policy::Uncached).open(&documents).expect("open");
    let error = cars
        .put(u64::MAX, car("a", "", &[], 0))
        .expect_err("a large key");
    assert_eq!(error.kind(), ErrorKind::Limit);
    let huge = "x".repeat(5 << 20);
    let error = cars
        .insert(car(&huge, "", &[], 0))
        .expect_err("a large document");
    assert_eq!(error.kind(), ErrorKind::Limit);
    let error = Declaration::<Car>::new("x".repeat(300))
        .open(&documents)
        .err()
        .expect("long");
    assert_eq!(error.kind(), ErrorKind::Limit);
    let five = Value::try_from(&json!([1, 2, 3, 4, 5])).expect("a value");
    assert_eq!(five.to_json().len(), 5);
    cars.insert(car("still", "", &[], 0)).expect("a key");
}

#[test]
fn every_handle_detects_a_dropped_and_recreated_collection() {
    on_every_engine(|fixture| {
        for &policy in POLICIES {
            let documents = fixture.documents();
            let handle = cars(policy).open(&documents).expect("open");
            handle.insert(car("old", "red", &[], 1)).expect("a key");
            documents.remove("cars").expect("removed");
            let end = std::time::Instant::now() + Duration::from_secs(5);
            while handle.get(0).is_ok() || handle.count().is_ok() {
                assert!(std::time::Instant::now() < end, "{policy} does not follow");
                std::thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(
                handle.get(0).expect_err("no collection").kind(),
                ErrorKind::Missing
            );
            assert_eq!(
                handle.count().expect_err("no collection").kind(),
                ErrorKind::Missing
            );
            let again = cars(policy).open(&documents).expect("open");
            again.insert(car("new", "red", &[], 1)).expect("a key");
            assert_eq!(handle.get(0).expect("read").expect("a car").name, "new");
            assert_eq!(handle.count().expect("a count"), 1);
            documents.remove("cars").expect("removed");
        }
    });
}

#[test]
fn handles_of_a_collection_in_memory_share_its_documents() {
    let fixture = Fixture::new("memory:");
    let documents = fixture.documents();
    let one = cars(Policy::Ram).open(&documents).expect("open");
    let other = cars(Policy::Ram).open(&documents).expect("open");
    one.insert(car("a", "red", &[], 1)).expect("a key");
    assert_eq!(other.get(0).expect("read").expect("a car").name, "a");
    other
        .update(0, |car| car.color = Some("blue".to_owned()))
        .expect("updated");
    assert_eq!(
        one.index("color")
            .expect("an index")
            .count("blue")
            .expect("a count"),
        1
    );
    assert_eq!(
        one.index("color")
            .expect("an index")
            .count("red")
            .expect("a count"),
        0
    );
    other.delete(0).expect("deleted");
    assert!(one.get(0).expect("read").is_none());
}

#[test]
fn documents_are_not_writable_during_a_migration() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        let old = cars(Policy::Uncached).open(&documents).expect("open");
        old.insert_many((0..600).map(|n| car(&format!("c{n}"), "red", &[], n)))
            .expect("keys");
        let new = new_cars().open_unbuilt(&documents).expect("open");
        let error = new
            .insert(NewCar {
                title: "x".to_owned(),
            })
            .expect_err("unmigrated");
        assert!(
            error
                .to_string()
                .contains("being migrated to another schema version"),
            "{error}"
        );
        // Interrupted here, and continued by another program.
        drop(new);
        let new = new_cars().open(&fixture.documents()).expect("migrated");
        new.insert(NewCar {
            title: "x".to_owned(),
        })
        .expect("a key");
        assert_eq!(new.check().expect("checked"), []);
    });
}

#[test]
fn a_prefix_of_a_compound_value_finds_all_in_a_unique_index_too() {
    on_every_engine(|fixture| {
        for &policy in POLICIES {
            let documents = fixture.documents();
            let declared = Declaration::<Car>::new("cars").policy(policy);
            let declared = declared.unique("both", |car: &Car| (car.name.clone(), car.year));
            let cars = declared.open(&documents).expect("open");
            let all = [("a", 2), ("a", 1), ("b", 1)].map(|(name, year)| car(name, "", &[], year));
            cars.insert_many(all).expect("keys");
            let index = cars.index("both").expect("an index");
            let keys = |found: Vec<(u64, Arc<Car>)>| -> Vec<u64> {
                found.into_iter().map(|(key, _)| key).collect()
            };
            assert_eq!(keys(index.find("a").expect("found")), [1, 0], "{policy}");
            assert_eq!(keys(index.all(["a"]).expect("found")), [0, 1], "{policy}");
            assert_eq!(keys(index.find(("a", 2)).expect("found")), [0], "{policy}");
            assert_eq!(index.key(("b", 1)).expect("a key"), Some(2), "{policy}");
            if policy != Policy::Ram {
                documents.remove("cars").expect("removed");
            }
        }
    });
}
