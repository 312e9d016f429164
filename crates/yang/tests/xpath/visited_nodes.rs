//! The number of nodes read: point reads for keys, index reads, counts, and early termination.

use espalier_yang::data::{Place, TreeInstances};
use espalier_yang::schema::{ModuleSource, Schema, SchemaSource};
use espalier_yang::xpath::evaluate::{Evaluator, Item, Limits};
use espalier_yang::{DataError, ErrorTag, Instances, NodeId};

use crate::fixture::{TreeItem, expression, place, schema, tree};

/// The number of entries of the lists.
const SIZE: usize = 2_000;

fn document() -> String {
    let cars = (0..SIZE).map(|number| {
        let owner = (number + 1) % SIZE;
        format!(
            r#"{{"plate": "P{number}", "owner": {owner}, "tag": ["t{number}", "all"],
                "wheel": [{{"side": "l", "row": 1}}, {{"side": "r", "row": 1}}]}}"#
        )
    });
    let people = (0..SIZE).map(|number| {
        let knows = (number * 7) % SIZE;
        format!(r#"{{"id": {number}, "name": "N{number}", "knows": {knows}}}"#)
    });
    let phones = (0..SIZE).map(|number| format!("\"{number}\""));
    let joined =
        |texts: &mut dyn Iterator<Item = String>| -> String { texts.collect::<Vec<_>>().join(",") };
    let (mut cars, mut people, mut phones) = (cars, people, phones);
    format!(
        r#"{{"garage:garage": {{"car": [{}], "person": [{}], "phone": [{}]}}}}"#,
        joined(&mut cars),
        joined(&mut people),
        joined(&mut phones)
    )
}

/// Context, expression, and the maximum number of visited nodes.
const CASES: &[(&str, &str, u64)] = &[
    ("/garage/car[plate = 'P9']", "../opened = 1999", 10),
    ("/garage/car[plate = 'P9']", "not(../gate)", 10),
    ("/garage/car[plate = 'P9']", "count(../car) <= 100000", 10),
    (
        "/garage/car[plate = 'P9']",
        "count(../phone) + count(/garage/person)",
        10,
    ),
    (
        "/garage/car[plate = 'P9']",
        "/garage/person[id = current()/owner]/name",
        10,
    ),
    (
        "/garage/car[plate = 'P9']",
        "../person[id = current()/owner]",
        10,
    ),
    ("/garage/car[plate = 'P9']", "deref(owner)/../name", 20),
    (
        "/garage/car[plate = 'P9']",
        "wheel[side = 'l' and row = 1]",
        10,
    ),
    (
        "/",
        "/garage/car[plate = 'P1999'][tag = 'all']/wheel[row = 1][side = 'r']",
        20,
    ),
    ("/", "//car[plate = 'P77']/owner", 20),
    ("/", "/garage/phone[. = '1999']", 10),
    ("/", "boolean(//wheel)", 10),
    ("/", "/garage/car and not(/garage/car/none)", 5_000),
    ("/", "/garage/phone = '3'", 20),
    ("/", "/garage/car[1]/plate", 10),
    ("/", "/garage/car[position() = 3][1]/plate", 5_000),
    ("/", "/garage/person/id = /garage/car/owner", 5_000),
    ("/", "not(/garage/person/id = /garage/car/plate)", 10_000),
    (
        "/",
        "not(/garage/person/id > /garage/person/id[. = 1999])",
        20_000,
    ),
    // With an index on knows and on tag.
    ("/", "/garage/person[knows = 14]/name", 20),
    (
        "/garage/person[2]",
        "not(../person[id != current()/id and knows = current()/knows])",
        20,
    ),
    ("/", "/garage/car[tag = 't5']/plate", 20),
];

#[test]
fn the_number_of_visited_nodes_is_minimal() {
    let (schema, document) = (schema(), document());
    let tree = tree(&schema, &document);
    let indexed: Vec<NodeId> = schema
        .nodes()
        .filter(|node| matches!(&*node.name, "knows" | "tag"))
        .map(|node| node.id)
        .collect();
    let data = TreeInstances::new(&schema, &tree).with_indexes(&indexed);
    for (context, text, most) in CASES {
        let context = place(&data, context);
        let evaluator = Evaluator::new(&data, Limits::default());
        let value = evaluator
            .evaluate(&expression(text), &context)
            .expect("a value");
        assert!(value.to_boolean(), "{text}");
        let steps = evaluator.steps();
        assert!(steps <= *most, "{text}: {steps} steps");
    }
}

fn evaluation_error<'a>(data: &TreeInstances<'a>, context: &TreeItem<'a>, text: &str) -> DataError {
    let limits = Limits {
        steps_max: 1_000,
        ..Limits::default()
    };
    let evaluator = Evaluator::new(data, limits);
    let error = evaluator.evaluate(&expression(text), context);
    error.expect_err(text)
}

#[test]
fn exceeding_a_limit_is_an_error_that_names_the_limit() {
    let (schema, document) = (schema(), document());
    let tree = tree(&schema, &document);
    let data = TreeInstances::new(&schema, &tree);
    let root = Item::Inner(data.root());
    for text in [
        "count(//node())",
        "/garage/car/..",
        "sum(/garage/phone)",
        "string(/)",
    ] {
        let error = evaluation_error(&data, &root, text);
        assert_eq!(error.tag, ErrorTag::ResourceDenied, "{text}");
        assert!(error.message.contains("STEPS_MAX"), "{text}");
    }
    // The next evaluation has its own budget.
    let evaluator = Evaluator::new(
        &data,
        Limits {
            steps_max: 20,
            ..Limits::default()
        },
    );
    for _ in 0..10 {
        assert!(
            evaluator
                .test(&expression("/garage/opened = 1999"), &root)
                .is_ok()
        );
    }
}

#[test]
fn nesting_and_long_chains_do_not_overflow_the_stack() {
    let schema = schema();
    let tree = tree(&schema, r#"{"garage:garage": {"name": "x"}}"#);
    let data = TreeInstances::new(&schema, &tree);
    let context = place(&data, "/garage");
    let evaluator = Evaluator::new(&data, Limits::default());
    let nested = |open: &str, inner: &str, close: &str, times: usize| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    for text in [
        nested("self::node()[", "name = 'x'", "]", 98),
        nested("not(not(", "name", "))", 49),
        nested("string(", "name", ")", 98),
        nested("(", "name | name", ")[1]", 98),
        nested("-", "1", "", 490),
        format!("{}1", "1 + ".repeat(490)),
        format!("{}true()", "false() or ".repeat(5_000)),
    ] {
        let value = evaluator.test(&expression(&text), &context);
        assert!(value.expect("a value"), "{text}");
    }
}

/// Regression: a point read found the entry with the key `5.0` in its type although the compared text is `5`.
#[test]
fn a_key_equals_a_leaf_of_another_type_by_its_text() {
    let module = "module garage { yang-version 1.1; namespace 'urn:k'; prefix g; container garage {
        list car { key size; leaf size { type decimal64 { fraction-digits 1; } } }
        list bus { key size; leaf size { type string; } }
        leaf count { type uint8; } leaf text { type string; } } }";
    let source = SchemaSource {
        modules: vec![ModuleSource::from_text(module).expect("a module")],
        ..SchemaSource::default()
    };
    let schema = Schema::compile(&source).expect("a schema");
    let document = r#"{"garage:garage": {"car": [{"size": "5.0"}], "bus": [{"size": "05"}],
        "count": 5, "text": "5.0"}}"#;
    let tree = tree(&schema, document);
    let data = TreeInstances::new(&schema, &tree);
    let garage = place(&data, "/garage");
    for (text, expected) in [
        ("car[size = ../count]", false),
        ("car[../count = size]", true),
        ("car[size = current()/count]", false),
        ("car[current()/count = size]", true),
        ("car[size = current()/text]", true),
        // The text on the left is converted to the canonical form of the type on the right.
        ("bus[size = ../count]", true),
        ("bus[size = current()/count]", true),
        ("bus[current()/count = size]", false),
    ] {
        let evaluator = Evaluator::new(&data, Limits::default());
        let found = evaluator.test(&expression(text), &garage).expect("a value");
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn instances_of_a_tree_have_their_path() {
    let (schema, document) = (schema(), document());
    let tree = tree(&schema, &document);
    let data = TreeInstances::new(&schema, &tree);
    for path in [
        "/garage/office/shelf",
        "/garage/car[plate = 'P3']/wheel[2]",
        "/garage",
        "/",
    ] {
        let found = place(&data, path);
        let inner: &Place = found.as_inner().expect("a place");
        let path = data.path(inner).expect("a path");
        let evaluator = Evaluator::new(&data, Limits::default());
        let again = evaluator.resolve(&path).expect("read");
        assert_eq!(again, Some(found));
    }
}
