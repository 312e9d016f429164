//! Defects of DODB (`spec/dodb.md`) that must not occur here: a named test for each.

mod fixture;

use espalier_documents::{Declaration, Policy, Selection};
use fixture::{Car, POLICIES, car, cars, on_every_engine};

/// In DODB, `pop` of an empty database keeps the lock, and the next write blocks for ever.
#[test]
fn pop_of_an_empty_collection_leaves_it_usable() {
    on_every_engine(|fixture| {
        let cars = cars(Policy::Cached)
            .open(&fixture.documents())
            .expect("open");
        assert!(cars.pop().expect("nothing").is_none());
        assert_eq!(cars.insert(car("a", "", &[], 1)).expect("a key"), 0);
    });
}

/// In DODB, `pop` walks back over gaps and assigns the last index to a local variable.
#[test]
fn pop_skips_gaps_and_keys_are_not_reused() {
    on_every_engine(|fixture| {
        let cars = cars(Policy::Indexed)
            .open(&fixture.documents())
            .expect("open");
        cars.insert_many((0..5).map(|n| car(&n.to_string(), "", &[], n)))
            .expect("keys");
        cars.delete(4).expect("deleted");
        cars.delete(3).expect("deleted");
        assert_eq!(cars.pop().expect("popped").expect("a car").0, 2);
        assert_eq!(cars.insert(car("new", "", &[], 0)).expect("a key"), 5);
        assert_eq!(cars.last_key().expect("a key"), Some(5));
    });
}

/// In DODB, a value becomes a part of a path: `/`, NUL, `..` and long ones break it.
#[test]
fn any_string_is_a_value() {
    let long = "y".repeat(5000);
    let texts = [
        "",
        "/",
        "../../etc",
        ".",
        "..",
        "\0",
        "a\0b",
        "a/b",
        "\u{1}\u{2}",
        "é",
        &long,
    ];
    on_every_engine(|fixture| {
        for &policy in POLICIES {
            let documents = fixture.documents();
            let cars = cars(policy).open(&documents).expect("open");
            for (n, text) in texts.iter().enumerate() {
                assert_eq!(
                    cars.insert(car(text, text, &[text], 1)).expect("a key"),
                    n as u64
                );
            }
            for (n, text) in texts.iter().enumerate() {
                let key = Some(n as u64);
                assert_eq!(
                    cars.index("name")
                        .expect("an index")
                        .key(*text)
                        .expect("a key"),
                    key
                );
                let color = cars
                    .index("color")
                    .expect("an index")
                    .find(*text)
                    .expect("found");
                assert_eq!(color.len(), usize::from(!text.is_empty()), "{text:?}");
                let tagged = cars
                    .index("keyword")
                    .expect("an index")
                    .all([*text])
                    .expect("found");
                assert_eq!(tagged[0].0, n as u64);
            }
            assert_eq!(cars.check().expect("checked"), []);
            if policy != Policy::Ram {
                documents.remove("cars").expect("removed");
            }
        }
    });
}

/// In DODB, partitions and tags without documents stay behind as empty directories.
#[test]
fn a_value_without_documents_is_removed() {
    on_every_engine(|fixture| {
        let cars = cars(Policy::Uncached)
            .open(&fixture.documents())
            .expect("open");
        cars.insert(car("a", "red", &["x"], 1)).expect("a key");
        cars.update(0, |car| car.color = Some("blue".to_owned()))
            .expect("updated");
        let color = cars.index("color").expect("an index");
        let values = color.values(None, 10).expect("values");
        assert_eq!(values.len(), 1);
        assert_eq!(values[0].value.to_string(), "\"blue\"");
        cars.delete(0).expect("deleted");
        assert!(color.values(None, 10).expect("values").is_empty());
    });
}

/// In DODB, a tag costs a link for each permutation of each subset.
#[test]
fn a_hundred_tags_are_a_hundred_entries() {
    on_every_engine(|fixture| {
        let cars = cars(Policy::Uncached)
            .open(&fixture.documents())
            .expect("open");
        let before = fixture.driver().usage().expect("usage").keys;
        let tags: Vec<_> = (0..100).map(|n| format!("t{n}")).collect();
        let tags: Vec<_> = tags.iter().map(String::as_str).collect();
        cars.insert(car("a", "", &tags, 1)).expect("a key");
        let after = fixture.driver().usage().expect("usage").keys;
        // The document, its name, its tags, and two counters.
        assert_eq!(after - before, 1 + 1 + 100 + 2);
        let tagged = cars
            .index("keyword")
            .expect("an index")
            .all(&tags)
            .expect("found");
        assert_eq!(tagged.len(), 1);
    });
}

/// In DODB, an index that a program does not declare becomes stale.
#[test]
fn an_index_is_never_stale() {
    on_every_engine(|fixture| {
        let declared =
            || Declaration::<Car>::new("cars").partition("color", |car: &Car| car.color.clone());
        declared()
            .open(&fixture.documents())
            .expect("open")
            .insert(car("a", "red", &[], 1))
            .expect("a key");
        let plain = Declaration::<Car>::new("cars")
            .open(&fixture.documents())
            .expect("open");
        plain
            .update(0, |car| car.color = Some("blue".to_owned()))
            .expect("updated");
        let cars = declared().open(&fixture.documents()).expect("open");
        let color = cars.index("color").expect("an index");
        assert_eq!(color.count("red").expect("a count"), 0);
        assert_eq!(color.count("blue").expect("a count"), 1);
    });
}

/// In DODB, documents that cannot be read are skipped silently.
#[test]
fn a_document_that_cannot_be_read_is_an_error_and_a_finding() {
    on_every_engine(|fixture| {
        let documents = fixture.documents();
        let any = Declaration::<serde_json::Value>::new("cars")
            .open(&documents)
            .expect("open");
        any.insert(serde_json::json!({"name": 1})).expect("a key");
        let cars = Declaration::<Car>::new("cars")
            .open(&documents)
            .expect("open");
        let error = cars.list(Selection::all()).expect_err("no car");
        assert!(
            error
                .to_string()
                .contains("document 0 cannot be read as this type"),
            "{error}"
        );
        assert_eq!(cars.check().expect("checked").len(), 1);
    });
}
