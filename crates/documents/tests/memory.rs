//! The memory of a cache: bytes that are allocated for each document. In a program of its own, whose allocator counts.

use std::alloc::System;
use std::sync::Arc;

use cap::Cap;
use espalier_documents::{
    Collection, Declaration, Document, Documents, FieldIndex, JsonDocument, Kind, Policy, Selection,
};
use espalier_drivers::memory::{Config, Memory};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// The number of documents: the hash table of a unique index is nearly as empty as it can be.
const DOCUMENTS: u64 = 60_000;

/// The bounds, in bytes for each document, of which the JSON is 111 on average.
const TYPED_MAX: usize = 400;
const TEXT_MAX: usize = 290;
const INDEXED_MAX: usize = 260;

/// A car of DODB's bench.
#[derive(Serialize, Deserialize)]
struct Car {
    name: String,
    color: String,
    keywords: Vec<String>,
}

fn car(number: u64) -> Car {
    Car {
        name: format!("Corvet-{number}"),
        color: format!("grey-{}", number % 1000),
        keywords: vec![
            format!("plain-{}", number % 1000),
            format!("usual-{}", number % 777),
            format!("elegant-{}", number % 500),
            format!("impressive-{}", number % 300),
        ],
    }
}

fn typed(policy: Policy) -> Declaration<Car> {
    Declaration::new("typed")
        .policy(policy)
        .unique("name", |car: &Car| car.name.clone())
        .partition("color", |car: &Car| car.color.clone())
        .tags("keyword", |car: &Car| car.keywords.clone())
}

fn fields() -> Vec<FieldIndex> {
    let index = |name: &str, kind, field: &str| FieldIndex {
        name: name.into(),
        kind,
        fields: vec![field.into()],
    };
    vec![
        index("name", Kind::Unique, "/name"),
        index("color", Kind::Partition, "/color"),
        index("keyword", Kind::Tags, "/keywords"),
    ]
}

/// Opens a collection. Returns it, and the bytes that are allocated for each document.
fn opened<T: Document>(kind: &str, open: impl FnOnce() -> Collection<T>) -> (Collection<T>, usize) {
    let before = ALLOCATOR.allocated();
    let collection = open();
    let bytes = per_document(before);
    let found = collection.index("name").expect("an index").key("Corvet-77");
    assert_eq!(found.expect("a key"), Some(77));
    let json: usize = (0..DOCUMENTS)
        .map(|number| serde_json::to_string(&car(number)).expect("JSON").len())
        .sum();
    let times = (bytes * DOCUMENTS as usize) as f64 / json as f64;
    eprintln!("{kind}: {bytes} bytes a document, {times:.2} times its JSON");
    (collection, bytes)
}

fn per_document(before: usize) -> usize {
    ALLOCATOR.allocated().saturating_sub(before) / DOCUMENTS as usize
}

/// Writes every document again, and deletes some and adds them again.
fn rewrite(documents: &Documents, cars: &Collection<JsonDocument>) {
    let all = cars.list(Selection::all()).expect("documents");
    let rewritten = documents.transaction(|transaction| {
        for (key, document) in &all {
            transaction.put(cars, *key, Arc::clone(document))?;
        }
        Ok(())
    });
    rewritten.expect("a commit");
    let keys: Vec<_> = (0..DOCUMENTS).step_by(3).collect();
    cars.remove_many(&keys).expect("removed");
    let added = documents.transaction(|transaction| {
        for key in &keys {
            let (_, document) = &all[*key as usize];
            transaction.put(cars, *key, Arc::clone(document))?;
        }
        Ok(())
    });
    added.expect("a commit");
}

// One test: the tests of a program run at the same time.
#[test]
fn a_cache_takes_little_memory() {
    let documents = Documents::new(Arc::new(Memory::new(Config::default())), &[0x30]);
    let cars = typed(Policy::Uncached)
        .open(&documents)
        .expect("a collection");
    let made = (0..DOCUMENTS).map(car);
    cars.insert_many(made).expect("documents");
    drop(cars);
    let untyped = documents.configure("untyped", Policy::Uncached, fields());
    let made = (0..DOCUMENTS).map(|number| serde_json::to_value(car(number)).expect("JSON"));
    untyped
        .expect("a collection")
        .insert_many(made)
        .expect("documents");

    let open = || typed(Policy::Cached).open(&documents).expect("typed");
    let (_typed, bytes) = opened("typed", open);
    assert!(bytes <= TYPED_MAX, "typed: {bytes}");
    let open = || typed(Policy::Indexed).open(&documents).expect("indexed");
    let (_indexed, bytes) = opened("indexed", open);
    assert!(bytes <= INDEXED_MAX, "indexed: {bytes}");
    let open = || -> Collection<Json> {
        documents
            .open("untyped", Some(Policy::Cached))
            .expect("trees")
    };
    drop(opened("trees", open));

    let before = ALLOCATOR.allocated();
    let open = || {
        documents
            .open_text("untyped", Some(Policy::Cached))
            .expect("text")
    };
    let (text, bytes) = opened("text", open);
    assert!(bytes <= TEXT_MAX, "text: {bytes}");
    rewrite(&documents, &text);
    let first = per_document(before);
    rewrite(&documents, &text);
    let second = per_document(before);
    eprintln!("text, written again: {first}, then {second} bytes a document");
    assert!(second <= first + first / 10, "{first} {second}");
}
