//! The accessible tree (RFC 7950 §6.4.1): nodes that exist without being stored.

use espalier_yang::data::{
    DataTree, ParseOptions, Root, TreeBuilder, TreeInstances, WithOperation, json,
};
use espalier_yang::schema::{ModuleSource, Schema, SchemaSource};
use espalier_yang::xpath::evaluate::{Evaluator, Item, Limits, Object, Scope, number_to_string};
use espalier_yang::{ErrorTag, Instances, NodeId, Value};

use crate::fixture::{evaluated, expression, place, schema, tree};

fn check(document: &str, cases: &[(&str, &str)]) {
    let schema = schema();
    let tree = tree(&schema, document);
    let data = TreeInstances::new(&schema, &tree);
    for (text, expected) in cases {
        let found = evaluated(&data, "/garage", text);
        let found = found.unwrap_or_else(|error| format!("{error}"));
        let expected = expected.replace('~', "/garage:garage");
        assert_eq!(found, expected, "{text} in {document}");
    }
}

#[test]
fn an_empty_datastore_has_its_containers_and_defaults() {
    check(
        "{}",
        &[
            ("/garage/opened", "~/opened=1999"),
            ("/garage/office/shelf", "~/office/shelf"),
            ("/garage/motto", ""),
            ("//desk", "~/office/desk=oak"),
            ("count(/garage/*)", "8"),
            ("/garage/gate | //books | //width", ""),
        ],
    );
}

#[test]
fn defaults_of_a_case_exist_with_the_case() {
    let gas = "pressure | meter | meter/reading";
    let wood = "logs | dry | iron | tile";
    check(
        "{}",
        &[(gas, "~/pressure=4 ~/meter ~/meter/reading=7"), (wood, "")],
    );
    check(
        r#"{"garage:garage": {"logs": 3}}"#,
        &[(gas, ""), (wood, "~/logs=3 ~/dry=true ~/iron=black")],
    );
    // A node of a nested choice is a node of the enclosing case (RFC 7950 §7.6.1).
    check(
        r#"{"garage:garage": {"tile": "green"}}"#,
        &[(gas, ""), (wood, "~/dry=true ~/tile=green")],
    );
    check(
        r#"{"garage:garage": {"meter": {"reading": 9}}}"#,
        &[(gas, "~/pressure=4 ~/meter ~/meter/reading=9"), (wood, "")],
    );
}

#[test]
fn nodes_with_a_false_when_do_not_exist() {
    check(
        r#"{"garage:garage": {"opened": 2001}}"#,
        &[("yard | yard/size | //size", ""), ("count(yard)", "0")],
    );
    check(
        r#"{"garage:garage": {"name": "Ada"}}"#,
        &[("motto", "~/motto=fast"), ("yard/size", "~/yard/size=10.5")],
    );
    // Stored nodes exist, whatever their `when`.
    check(
        r#"{"garage:garage": {"opened": 2001, "yard": {"size": "2.0"}}}"#,
        &[("yard/size", "~/yard/size=2.0")],
    );
}

#[test]
fn state_may_hold_a_value_twice() {
    check(
        r#"{"garage:garage": {"visit": [{"who": "a", "note": ["x", "y", "x"]}, {"who": "a"}]}}"#,
        &[
            ("count(visit)", "2"),
            ("count(visit[who = 'a'])", "2"),
            ("count(visit/note)", "3"),
            ("count(visit/note[. = 'x'])", "2"),
            ("count(visit/note | visit/note[3])", "3"),
            ("count(visit/note[2]/preceding-sibling::note)", "1"),
            ("visit[2]/who", "~/visit[2]/who=a"),
        ],
    );
}

#[test]
fn evaluation_may_be_restricted_to_configuration() {
    let schema = schema();
    let tree = tree(
        &schema,
        r#"{"garage:garage": {"visit": [{"who": "a"}], "logs": 1}}"#,
    );
    let data = TreeInstances::new(&schema, &tree);
    let garage = place(&data, "/garage");
    let evaluator = Evaluator::new(&data, Limits::default()).within(Scope::Config);
    for text in ["visit", "//who", "visit/note", "count(visit)"] {
        assert!(
            !evaluator.test(&expression(text), &garage).expect("a value"),
            "{text}"
        );
    }
    assert!(
        evaluator
            .test(&expression("logs and opened"), &garage)
            .expect("a value")
    );
}

#[test]
fn the_api_of_the_accessible_tree_agrees() {
    let schema = schema();
    let tree = tree(&schema, r#"{"garage:garage": {"opened": 2001, "logs": 3}}"#);
    let data = TreeInstances::new(&schema, &tree);
    let evaluator = Evaluator::new(&data, Limits::default());
    let garage = place(&data, "/garage");
    let garage = garage.as_inner().expect("a place");
    let id = |name: &str| -> NodeId {
        let module = schema.module_by_name("garage").expect("the module");
        schema.child(data.node(garage), module, name).expect(name)
    };
    let leaf = |name: &str| evaluator.leaf(garage, id(name)).expect("read");
    assert_eq!(leaf("opened"), Some((Value::Uint32(2001), false)));
    assert_eq!(leaf("dry"), Some((Value::Boolean(true), true)));
    assert_eq!(leaf("pressure"), None);
    let yard = id("yard");
    assert_eq!(evaluator.container(garage, yard).expect("read"), None);
    let handle = data.container(garage, yard);
    assert!(!evaluator.is_accessible(&handle).expect("read"));
    let size = schema.node(yard).children[0];
    assert_eq!(evaluator.leaf(&handle, size).expect("read"), None);
    let when = &schema.node(yard).whens[0];
    assert!(!evaluator.when(when, garage, yard).expect("read"));
    let heating = schema.node(id("logs")).cases[0].choice;
    assert_eq!(evaluator.case_of(garage, heating).expect("read"), Some(1));
    let mut days = Vec::new();
    evaluator
        .values(garage, id("day"), &mut |value, is_default| {
            days.push((value.to_string(), is_default));
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .expect("read");
    assert_eq!(days, [("1".to_owned(), true), ("2".to_owned(), true)]);
}

fn part(schema: &Schema, node: NodeId, text: &str) -> DataTree {
    let mut tree = TreeBuilder::new();
    let root = Root::Resource(node);
    let parsed = json::parse(
        schema,
        root,
        text.as_bytes(),
        &mut tree,
        &ParseOptions::default(),
    );
    parsed.unwrap_or_else(|error| panic!("{error}\n{text}"));
    tree.finish().expect("a small tree")
}

#[test]
fn operations_are_part_of_the_accessible_tree() {
    let schema = schema();
    let tree = tree(
        &schema,
        r#"{"garage:garage": {"name": "Ada", "car": [{"plate": "A"}], "opened": 8}}"#,
    );
    let data = TreeInstances::new(&schema, &tree);
    let garage = place(&data, "/garage");
    let garage = garage.as_inner().expect("a place");
    let module = schema.module_by_name("garage").expect("the module");
    let paint = schema
        .child(data.node(garage), module, "paint")
        .expect("paint");
    let input = schema.node(paint).children[0];
    let tree = part(&schema, input, r#"{"garage:input": {"coats": 2}}"#);
    let operation = TreeInstances::new(&schema, &tree);
    let both = WithOperation::new(&data, garage.clone(), &operation);
    let evaluator = Evaluator::new(&both, Limits::default());
    let context = Item::Inner(both.operation(input));
    for (text, expected) in [
        ("number(coats)", "2"),
        ("count(colour[. = 'white'])", "1"),
        ("count(../car[plate = 'A'])", "1"),
        ("count(/garage/paint/coats)", "1"),
        ("count(//coats)", "1"),
        ("count(ancestor::node())", "2"),
        ("count(ancestor-or-self::paint)", "1"),
        ("number(../opened)", "8"),
        ("count(coats/../../car)", "1"),
        ("count(/garage/*[self::paint])", "1"),
        ("count(coats/preceding::name)", "1"),
    ] {
        let object = evaluator.evaluate(&expression(text), &context);
        let Ok(Object::Number(number)) = object else {
            panic!("{text}: {object:?}");
        };
        assert_eq!(number_to_string(number), expected, "{text}");
    }
    let name = evaluator.evaluate(&expression("local-name()"), &context);
    assert!(matches!(name, Ok(Object::String(name)) if &*name == "paint"));
    let path = both.path(&both.operation(input)).expect("a path");
    assert_eq!(path.to_instance_identifier(&schema), "/garage:garage/paint");
}

#[test]
fn the_input_of_an_rpc_is_evaluated_without_a_datastore() {
    let schema = schema();
    let module = schema.module_by_name("garage").expect("the module");
    let close = schema.child(None, module, "close").expect("close");
    let input = schema.node(close).children[0];
    let tree = part(&schema, input, r#"{"garage:input": {"hour": 7}}"#);
    let data = TreeInstances::new(&schema, &tree);
    let evaluator = Evaluator::new(&data, Limits::default());
    let context = Item::Inner(data.container(&data.root(), input));
    for text in [
        "hour = 7 and reason/text = 'late'",
        "/close/hour = 7",
        "//hour/../reason",
        "reason/text/../../hour = 7",
        "not(/garage/car)",
        "/garage/opened = 1999",
    ] {
        let test = evaluator.test(&expression(text), &context);
        assert!(test.expect("a value"), "{text}");
    }
}

/// libyang rejects a `when` that depends on itself if it detects it; here it does not.
const CIRCULAR: &str = "module garage { yang-version 1.1; namespace 'urn:c'; prefix g;
  container garage {
    leaf a { type string; default 'x'; when \"count(../*) > 0\"; }
    leaf b { type string; default 'x'; }
  } }";

#[test]
fn a_when_that_depends_on_itself_is_an_error() {
    let source = SchemaSource {
        modules: vec![ModuleSource::from_text(CIRCULAR).expect("a module")],
        ..SchemaSource::default()
    };
    let schema = Schema::compile(&source).unwrap_or_else(|errors| panic!("{errors}"));
    let tree = tree(&schema, "{}");
    let data = TreeInstances::new(&schema, &tree);
    let found = evaluated(&data, "/garage", "a");
    let error = found.expect_err("a circle");
    assert_eq!(error.tag, ErrorTag::ResourceDenied);
    assert!(error.message.contains("DEPTH_MAX"), "{error}");
}
