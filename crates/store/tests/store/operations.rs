//! Operations and notifications are validated together with the data of their context.

use espalier_store::{Error, LoadMode};
use espalier_yang::InstancePath;
use espalier_yang::data::{ParseOptions, Root, TreeBuilder, json};

use crate::fixture::{load_json, memory_tree, path};

const MODEL: &str = r#"module m { yang-version 1.1; namespace urn:m; prefix m;
  list port { key name; leaf name { type string; } leaf speed { type uint32; }
    action reset { input { leaf wait { type uint32; must ". <= ../../speed"; mandatory true; } } } }
  rpc join { input {
      leaf left { type leafref { path "/port/name"; } mandatory true; }
      leaf right { type leafref { path "/port/name"; } must ". != ../left"; }
      leaf-list tag { type string; min-elements 1; }
      leaf why { when "../right"; type string; } }
    output { leaf id { type uint32; mandatory true; } } }
  notification flap { leaf port { type leafref { path "/port/name"; } mandatory true; } } }"#;

/// The violations of a document of the node with a schema path, in a context of the data.
fn violations(around: &str, node: &str, document: &str) -> Vec<String> {
    let tree = memory_tree(MODEL);
    let data = r#"{"m:port":[{"name":"a","speed":10},{"name":"b","speed":5}]}"#;
    load_json(&tree, LoadMode::Merge, data).unwrap();
    let schema = tree.schema();
    let mut nodes = schema.nodes().map(|node| node.id);
    let node = nodes.find(|&id| schema.path(id) == node).expect("a node");
    let around = match around {
        "" => InstancePath::root(),
        around => path(schema, around),
    };
    let mut builder = TreeBuilder::new();
    let root = Root::Resource(node);
    let options = ParseOptions::default();
    json::parse(schema, root, document.as_bytes(), &mut builder, &options).unwrap();
    let operation = builder.finish().unwrap();
    let view = tree.view().unwrap();
    match view.validate_operation(&around, node, &operation) {
        Ok(_) => Vec::new(),
        Err(Error::Data(errors)) => {
            let found = errors.iter();
            found
                .map(|error| format!("{} {}", error.path, error.tag.as_str()))
                .collect()
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn the_input_of_an_rpc_is_validated_with_the_data() {
    let input = "/m:join/input";
    let valid = r#"{"m:input":{"left":"a","right":"b","tag":["t"],"why":"w"}}"#;
    assert_eq!(violations("", input, valid), [""; 0]);
    let found = violations("", input, r#"{"m:input":{"left":"c","why":"w"}}"#);
    let expected = [
        "/m:join/tag operation-failed",
        "/m:join/left data-missing",
        "/m:join/why unknown-element",
    ];
    assert_eq!(found, expected);
    let same = r#"{"m:input":{"left":"a","right":"a","tag":["t"]}}"#;
    assert_eq!(
        violations("", input, same),
        ["/m:join/right operation-failed"]
    );
    let empty = violations("", input, r#"{"m:input":{}}"#);
    assert_eq!(
        empty,
        ["/m:join/left data-missing", "/m:join/tag operation-failed"]
    );
}

#[test]
fn the_output_of_an_rpc_is_validated() {
    let output = "/m:join/output";
    assert_eq!(violations("", output, r#"{"m:output":{"id":1}}"#), [""; 0]);
    let found = violations("", output, r#"{"m:output":{}}"#);
    assert_eq!(found, ["/m:join/id data-missing"]);
}

#[test]
fn an_action_is_validated_on_its_entry() {
    let input = "/m:port/reset/input";
    let wait = r#"{"m:input":{"wait":7}}"#;
    assert_eq!(violations("/m:port[name='a']", input, wait), [""; 0]);
    let found = violations("/m:port[name='b']", input, wait);
    assert_eq!(found, ["/m:port[name='b']/reset/wait operation-failed"]);
    let found = violations("/m:port[name='c']", input, wait);
    assert_eq!(found, ["/m:port[name='c'] data-missing"]);
}

#[test]
fn a_notification_may_refer_to_the_data() {
    let flap = "/m:flap";
    assert_eq!(violations("", flap, r#"{"m:flap":{"port":"a"}}"#), [""; 0]);
    let found = violations("", flap, r#"{"m:flap":{"port":"c"}}"#);
    assert_eq!(found, ["/m:flap/port data-missing"]);
}
