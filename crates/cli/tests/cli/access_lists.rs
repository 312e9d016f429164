//! Access control lists with port ranges (RFC 8519): the conditions are in a grouping of another module, and name
//! nodes of the module that uses it.

use serde_json::{Value, json};

use crate::process::{Sandbox, shared_data};

/// A grouping as in ietf-packet-fields.
const FIELDS: &str = "module fields { yang-version 1.1; namespace urn:fields; prefix f;
  grouping ports { choice ports {
    case range {
      leaf lower { type uint16; must '. <= ../upper' { error-message 'lower is above upper'; } mandatory true; }
      leaf upper { type uint16; mandatory true; } }
    case single { leaf operator { type string; default eq; } leaf port { type uint16; mandatory true; } } } }
  grouping options {
    leaf version { type uint8; default 4; }
    leaf offset { when \"../version = 4\"; type uint16; default 7; } } }";

/// A list as in ietf-access-control-list.
const LISTS: &str = "module lists { yang-version 1.1; namespace urn:lists; prefix l;
  import fields { prefix f; }
  container acls { list ace { key name; leaf name { type string; }
    uses f:options;
    container source-port { uses f:ports; } } } }";

fn ace(lower: u32, upper: u32) -> Value {
    json!({"name": "web", "source-port": {"lower": lower, "upper": upper}})
}

#[test]
fn access_list_with_port_range_is_loaded_edited_and_rejected() {
    let sandbox = Sandbox::new();
    sandbox.write("fields.yang", FIELDS);
    sandbox.write("lists.yang", LISTS);
    sandbox.write(
        "good.json",
        json!({"lists:acls": {"ace": [ace(80, 90)]}}).to_string(),
    );
    sandbox.write(
        "bad.json",
        json!({"lists:acls": {"ace": [ace(90, 80)]}}).to_string(),
    );
    let store = ["--store", "embedded:store"];
    let modules = ["--yang", "fields.yang", "--yang", "lists.yang"];
    let rejected = sandbox.run(&[&["load", "bad.json"][..], &store, &modules].concat());
    let rejected = rejected.failed(1);
    assert!(rejected.contains("lower is above upper"), "{rejected}");
    sandbox
        .run(&[&["load", "good.json"][..], &store, &modules].concat())
        .ok();
    let read = sandbox.run(
        &[
            &["get", "/lists:acls", "--with-defaults", "report-all"][..],
            &store,
        ]
        .concat(),
    );
    let read = read.json();
    assert_eq!(read["lists:acls"]["ace"][0]["offset"], json!(7), "{read}");
    let upper = "/lists:acls/ace=web/source-port/upper";
    sandbox
        .run(&[&["set", upper, "79"][..], &store].concat())
        .failed(1);
    sandbox
        .run(&[&["set", upper, "81"][..], &store].concat())
        .ok();
    sandbox.run(&[&["check"][..], &store].concat()).ok();
    let server = sandbox.serve(&store);
    let place = "/restconf/data/lists:acls/ace=web/source-port/upper";
    let put = |value: u32| {
        let body = json!({"lists:upper": value}).to_string();
        server.request("PUT", place, Some(&body)).status
    };
    assert!((400..500).contains(&put(79)));
    assert_eq!(put(80), 204);
}

/// Runs only if the IETF's modules are available.
#[test]
fn rfc_8519_access_list_with_port_range_is_loaded() {
    let Some(standard) = shared_data().map(|folder| folder.join("standard")) else {
        return;
    };
    let sandbox = Sandbox::new();
    let document = |lower: u32| {
        let port = json!({"lower-port": lower, "upper-port": 90});
        let tcp = json!({"tcp": {"source-port": port}});
        let ace = json!({"name": "a", "matches": tcp, "actions": {"forwarding": "ietf-access-control-list:accept"}});
        let acl = json!({"name": "web", "aces": {"ace": [ace]}});
        json!({"ietf-access-control-list:acls": {"acl": [acl]}}).to_string()
    };
    sandbox.write("good.json", document(80));
    sandbox.write("bad.json", document(91));
    let standard = standard.display().to_string();
    let rest = [
        "--yang",
        &standard,
        "--implement",
        "ietf-access-control-list",
        "--store",
        "embedded:store",
    ];
    sandbox
        .run(&[&["load", "bad.json"][..], &rest].concat())
        .failed(1);
    sandbox
        .run(&[&["load", "good.json"][..], &rest].concat())
        .ok();
}
