//! Kinds of module changes: compatible ones, converted data, data dropped on request, rejected ones.

use espalier_store::{Datastore, Error, LoadMode, Selection, Store, UnknownData, UpgradeOptions};
use espalier_yang::InstancePath;
use espalier_yang::data::TreeBuilder;

use crate::fixture::{assert_sound, load_json, open_store, show, source, text};

/// The outcome of a module change.
enum Outcome {
    /// The rows are unchanged, with this content.
    Fits(&'static str),
    /// The data becomes this, in a version of its own.
    Converted(&'static str),
    /// It is rejected at a path; on request the data becomes this.
    Dropped(&'static str, &'static str),
    /// It is rejected at a path, on request too.
    Refused(&'static str),
}

use Outcome::{Converted, Dropped, Fits, Refused};

/// The body of the old module, the data, the body of the new module, the outcome.
type Case = (&'static str, &'static str, &'static str, Outcome);

const TYPES: &[Case] = &[
    (
        "leaf a { type uint8; }",
        r#"{"m:a":7}"#,
        "leaf a { type uint16; }",
        Fits(r#"{"m:a":7}"#),
    ),
    (
        "leaf a { type uint32; }",
        r#"{"m:a":7}"#,
        "leaf a { type uint64; }",
        Converted(r#"{"m:a":"7"}"#),
    ),
    (
        "leaf a { type uint16; }",
        r#"{"m:a":500}"#,
        "leaf a { type uint16 { range '0..10'; } }",
        Refused("/m:a"),
    ),
    (
        "leaf a { type string; }",
        r#"{"m:a":"x"}"#,
        "leaf a { type uint8; }",
        Refused("/m:a"),
    ),
    (
        "leaf a { type string; }",
        r#"{"m:a":"007"}"#,
        "leaf a { type uint8; }",
        Converted(r#"{"m:a":7}"#),
    ),
    (
        "leaf a { type decimal64 { fraction-digits 1; } }",
        r#"{"m:a":"1.5"}"#,
        "leaf a { type decimal64 { fraction-digits 3; } }",
        Converted(r#"{"m:a":"1.5"}"#),
    ),
    (
        "leaf a { type string; }",
        r#"{"m:a":"5"}"#,
        "leaf a { type union { type uint8; type string; } }",
        Fits(r#"{"m:a":"5"}"#),
    ),
    (
        "leaf a { type enumeration { enum x; enum y; } }",
        r#"{"m:a":"y"}"#,
        "leaf a { type enumeration { enum x; } }",
        Refused("/m:a"),
    ),
    (
        "leaf a { type enumeration { enum x; enum y; } }",
        r#"{"m:a":"y"}"#,
        "leaf a { type enumeration { enum y { value 7; } enum x; } }",
        Fits(r#"{"m:a":"y"}"#),
    ),
    (
        "leaf a { type bits { bit x; bit y; } }",
        r#"{"m:a":"x y"}"#,
        "leaf a { type bits { bit y; bit x; } }",
        Converted(r#"{"m:a":"y x"}"#),
    ),
    (
        "leaf a { type string; } leaf b { type string; }",
        r#"{"m:a":"x","m:b":"y"}"#,
        "leaf a { type leafref { path '/b'; } } leaf b { type string; }",
        Refused("/m:a"),
    ),
    (
        "leaf a { type string { pattern '[a-z]*'; } }",
        r#"{"m:a":"x"}"#,
        "leaf a { type string { pattern '[0-9]*'; } }",
        Refused("/m:a"),
    ),
    (
        "leaf a { type string { length '1..8'; } }",
        r#"{"m:a":"xxxx"}"#,
        "leaf a { type string { length '1..2'; } }",
        Refused("/m:a"),
    ),
];

const NODES: &[Case] = &[
    (
        "leaf a { type string; } leaf b { type string; }",
        r#"{"m:a":"x","m:b":"y"}"#,
        "leaf a { type string; }",
        Dropped("/m:b", r#"{"m:a":"x"}"#),
    ),
    (
        "container c { list l { key k; leaf k { type string; } } leaf b { type string; } }",
        r#"{"m:c":{"l":[{"k":"1"},{"k":"2"}],"b":"y"}}"#,
        "container c { leaf b { type string; } }",
        Dropped("/m:c/l", r#"{"m:c":{"b":"y"}}"#),
    ),
    (
        "feature f; leaf a { type string; }",
        r#"{"m:a":"x"}"#,
        "feature f; leaf a { if-feature 'not f'; type string; }",
        Dropped("/m:a", "{}"),
    ),
    (
        "leaf a { type string; }",
        r#"{"m:a":"x"}"#,
        "leaf a { config false; type string; }",
        Dropped("/m:a", "{}"),
    ),
    (
        "leaf a { type string; }",
        r#"{"m:a":"x"}"#,
        "leaf-list a { type string; }",
        Refused("/m:a"),
    ),
    (
        "leaf a { type string; }",
        r#"{"m:a":"x"}"#,
        "container a { leaf a { type string; } }",
        Refused("/m:a"),
    ),
    (
        "container c { leaf p { type string; } }",
        r#"{"m:c":{"p":"x"}}"#,
        "container c { container pp { leaf p { type string; } } }",
        Dropped("/m:c/p", "{}"),
    ),
    (
        "container c { leaf p { type string; } }",
        r#"{"m:c":{"p":"x"}}"#,
        "container c { presence p; leaf p { type string; } }",
        Fits(r#"{"m:c":{"p":"x"}}"#),
    ),
    (
        "container c { container i { leaf p { type string; } } }",
        r#"{"m:c":{"i":{"p":"x"}}}"#,
        "container c { presence p; container i { leaf p { type string; } } }",
        Converted(r#"{"m:c":{"i":{"p":"x"}}}"#),
    ),
    (
        "container c { presence p; leaf p { type string; } }",
        r#"{"m:c":{}}"#,
        "container c { leaf p { type string; } }",
        Converted("{}"),
    ),
    // An enclosing container that gets presence exists if one that loses it did.
    (
        "container c { container i { presence p; } }",
        r#"{"m:c":{"i":{}}}"#,
        "container c { presence p; container i; }",
        Converted(r#"{"m:c":{}}"#),
    ),
    (
        "leaf a { type string; } leaf b { type string; }",
        r#"{"m:a":"x","m:b":"y"}"#,
        "choice c { leaf a { type string; } leaf b { type string; } }",
        Refused("/m:"),
    ),
    (
        "leaf a { type string; } leaf b { type string; }",
        r#"{"m:a":"x"}"#,
        "choice c { leaf a { type string; } leaf b { type string; } }",
        Fits(r#"{"m:a":"x"}"#),
    ),
    (
        "leaf a { type string; }",
        r#"{"m:a":"x"}"#,
        "leaf a { type string; } leaf b { type string; mandatory true; }",
        Refused("/m:b"),
    ),
    (
        "leaf a { type string; } leaf b { type string; }",
        r#"{"m:a":"x"}"#,
        "leaf a { when '../b'; type string; } leaf b { type string; }",
        Refused("/m:a"),
    ),
    (
        "leaf a { type uint8; } leaf b { default 1; type uint8; }",
        r#"{"m:a":1}"#,
        "leaf a { type uint8; must '../b = 1'; } leaf b { default 2; type uint8; }",
        Refused("/m:a"),
    ),
];

const LISTS: &[Case] = &[
    (
        "list l { key k; leaf k { type string; } leaf v { type string; } }",
        r#"{"m:l":[{"k":"a","v":"1"},{"k":"b"}]}"#,
        "list l { key 'k v'; leaf k { type string; } leaf v { type string; } }",
        Refused("/m:l[k='b']"),
    ),
    (
        "list l { key k; leaf k { type string; } leaf v { type string; } }",
        r#"{"m:l":[{"k":"a","v":"1"}]}"#,
        "list l { key 'v k'; leaf k { type string; } leaf v { type string; } }",
        Converted(r#"{"m:l":[{"v":"1","k":"a"}]}"#),
    ),
    (
        "list l { key 'k v'; leaf k { type string; } leaf v { type string; } }",
        r#"{"m:l":[{"k":"a","v":"2"},{"k":"b","v":"1"}]}"#,
        "list l { key 'v k'; leaf k { type string; } leaf v { type string; } }",
        Converted(r#"{"m:l":[{"v":"1","k":"b"},{"v":"2","k":"a"}]}"#),
    ),
    (
        "list l { key 'k v'; leaf k { type string; } leaf v { type string; } }",
        r#"{"m:l":[{"k":"a","v":"2"},{"k":"a","v":"1"}]}"#,
        "list l { key k; leaf k { type string; } leaf v { type string; } }",
        Refused("/m:l[k='a']"),
    ),
    (
        "list l { key k; leaf k { type string; } }",
        r#"{"m:l":[{"k":"10"},{"k":"9"}]}"#,
        "list l { key k; leaf k { type uint8; } }",
        Converted(r#"{"m:l":[{"k":9},{"k":10}]}"#),
    ),
    (
        "list l { key k; leaf k { type string; } }",
        r#"{"m:l":[{"k":"1"},{"k":"01"}]}"#,
        "list l { key k; leaf k { type uint8; } }",
        Refused("/m:l[k="),
    ),
    (
        "list l { key k; leaf k { type string; } }",
        r#"{"m:l":[{"k":"b"},{"k":"a"}]}"#,
        "list l { key k; ordered-by user; leaf k { type string; } }",
        Converted(r#"{"m:l":[{"k":"a"},{"k":"b"}]}"#),
    ),
    (
        "list l { key k; ordered-by user; leaf k { type string; } }",
        r#"{"m:l":[{"k":"b"},{"k":"a"}]}"#,
        "list l { key k; leaf k { type string; } }",
        Converted(r#"{"m:l":[{"k":"a"},{"k":"b"}]}"#),
    ),
    (
        "leaf-list l { ordered-by user; type string; }",
        r#"{"m:l":["2","1"]}"#,
        "leaf-list l { type uint8; }",
        Converted(r#"{"m:l":[1,2]}"#),
    ),
    (
        "leaf-list l { type string; }",
        r#"{"m:l":["1","2","3"]}"#,
        "leaf-list l { max-elements 2; type string; }",
        Refused("/m:l"),
    ),
];

#[test]
fn types_change() {
    TYPES.iter().for_each(run);
}

#[test]
fn nodes_change() {
    NODES.iter().for_each(run);
}

#[test]
fn lists_change() {
    LISTS.iter().for_each(run);
}

fn module(body: &str) -> String {
    format!("module m {{ yang-version 1.1; namespace urn:m; prefix m; {body} }}")
}

fn upgrade(store: &Store, body: &str, unknown: UnknownData) -> Result<bool, String> {
    let options = UpgradeOptions {
        unknown,
        ..UpgradeOptions::default()
    };
    match store.upgrade_schema_set("d", "s", &source(&module(body)), options) {
        Ok(report) => Ok(report.is_changed()),
        Err(Error::Upgrade { errors, .. }) => Err(errors.to_string()),
        Err(error) => panic!("{error}"),
    }
}

fn run((old, data, new, outcome): &Case) {
    let case = format!("{old}\n{data}\n{new}");
    let store = open_store(espalier_drivers::open("memory:").unwrap());
    store.create_dataspace("d").unwrap();
    store
        .create_schema_set("d", "s", &source(&module(old)))
        .unwrap_or_else(|error| panic!("{case}: {error}"));
    store.create_anchor("d", "a", "s").unwrap();
    let open = || store.tree("d", "a", Datastore::Running).unwrap();
    load_json(&open(), LoadMode::Merge, data).unwrap_or_else(|error| panic!("{case}: {error}"));
    let before = text(&open());
    let done = upgrade(&store, new, UnknownData::Refuse);
    let refused_at = |done: Result<bool, String>, path: &str| {
        let errors = done.expect_err(&case);
        assert!(errors.contains(path), "{case}\n{errors}");
        assert_eq!(text(&open()), before, "{case}");
    };
    match outcome {
        Fits(after) | Converted(after) => {
            let is_converted = done.unwrap_or_else(|errors| panic!("{case}\n{errors}"));
            assert_eq!(is_converted, matches!(outcome, Converted(_)), "{case}");
            assert_eq!(text(&open()), *after, "{case}");
        }
        Dropped(path, after) => {
            refused_at(done, path);
            upgrade(&store, new, UnknownData::Drop)
                .unwrap_or_else(|errors| panic!("{case}\n{errors}"));
            assert_eq!(text(&open()), *after, "{case}");
        }
        Refused(path) => {
            refused_at(done, path);
            refused_at(upgrade(&store, new, UnknownData::Drop), path);
        }
    }
    assert_sound(&store);
    let then = open().at(1).unwrap();
    let mut builder = TreeBuilder::new();
    then.read(&InstancePath::root(), &Selection::default(), &mut builder)
        .unwrap();
    let was = show(then.schema(), &builder.finish().unwrap());
    assert_eq!(was, before, "{case}");
}
