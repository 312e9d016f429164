//! One mounted schema for all instances.

use std::sync::Arc;

use espalier_yang::data::{PrintOptions, json, xml};
use espalier_yang::path::InstancePath;
use espalier_yang::schema::stored::SchemaParts;
use espalier_yang::{NodeKind, Schema};

use crate::fixture::{
    ROUTER, assert_invalid, assert_valid, compile, device, devices, errors, fleet, mount, shared,
    tree,
};

fn schema() -> Schema {
    compile(&fleet(shared(&[ROUTER], &[])))
}

#[test]
fn mounted_nodes_are_children_of_the_mount_point() {
    let schema = schema();
    let path = "/fleet:devices/device=r1/root/router:interface=eth0/mtu";
    let parsed = InstancePath::parse_cli_path(&schema, path).unwrap();
    assert_eq!(
        schema.path(parsed.target().unwrap()),
        "/fleet:devices/device/root/router:interface/mtu"
    );
    let root = schema.node(parsed.steps[2].node);
    let kinds: Vec<(&str, bool)> = root
        .children
        .iter()
        .map(|&child| {
            let node = schema.node(child);
            (&*node.name, matches!(node.kind, NodeKind::Action))
        })
        .filter(|(name, _)| !name.starts_with("yang-") && !name.starts_with("modules"))
        .collect();
    let expected = [
        ("system", false),
        ("interface", false),
        ("limits", false),
        ("reboot", true),
        ("link-down", false),
    ];
    assert_eq!(kinds, expected);
    let [mount] = schema.mounts() else {
        panic!("one mount point: {:?}", schema.mounts());
    };
    let modules = mount.schemas[0].modules.iter();
    let implemented = modules.filter(|module| module.is_implemented);
    let names: Vec<&str> = implemented.map(|module| &*module.name).collect();
    assert!(names.contains(&"router") && names.contains(&"ietf-yang-library"));
    let own = schema.own_modules().iter();
    assert!(own.clone().any(|module| *module.name == *"fleet"));
    assert!(own.clone().all(|module| *module.name != *"router"));
}

#[test]
fn the_root_of_expressions_is_the_instance_of_the_mount_point() {
    let schema = schema();
    let one = |interfaces: &str| {
        let members = format!(
            r#""router:system":{{"hostname":"h","main":"a"}},"router:interface":[{interfaces}]"#
        );
        devices(&[
            &device("r1", &members),
            &device(
                "r2",
                r#""router:system":{"hostname":"h"},"router:interface":[{"name":"b"},{"name":"c"}]"#,
            ),
        ])
    };
    assert_valid(&schema, &one(r#"{"name":"a"}"#));
    assert_invalid(&schema, &one(r#"{"name":"x"}"#), "refers to nothing");
    assert_invalid(
        &schema,
        &one(r#"{"name":"a","enabled":false}"#),
        "does not hold",
    );
    assert_invalid(
        &schema,
        &one(r#"{"name":"a","peer":"b"}"#),
        "refers to nothing",
    );
    assert_valid(&schema, &one(r#"{"name":"a","peer":"a","mtu":9000}"#));
    assert_invalid(&schema, &one(r#"{"name":"a","mtu":9001}"#), "mtu");
    let four = r#"{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"}"#;
    assert_invalid(&schema, &one(four), "at most three");
    assert_valid(&schema, &one(r#"{"name":"a"},{"name":"b"},{"name":"c"}"#));
}

#[test]
fn defaults_conditions_and_mandatory_nodes_apply_inside() {
    let schema = schema();
    let alone = device(
        "r",
        r#""router:system":{"hostname":"alone"},"router:interface":[{"name":"a","peer":"a"}]"#,
    );
    assert_invalid(&schema, &devices(&[&alone]), "when");
    // A container without presence that has a mandatory leaf exists in every device.
    assert_invalid(&schema, &devices(&[&device("r", "")]), "hostname");
    assert_eq!(errors(&schema, "{}"), "");
    let lower = device(
        "r",
        r#""router:system":{"hostname":"h"},"router:limits":{"mtu-max":1000},
           "router:interface":[{"name":"a","mtu":1500}]"#,
    );
    assert_invalid(&schema, &devices(&[&lower]), "mtu");
}

#[test]
fn documents_are_read_and_printed_in_json_and_xml() {
    let schema = schema();
    let text = devices(&[&device(
        "r1",
        r#""router:system":{"hostname":"h"},"router:interface":[{"name":"a","media":"router:copper"}]"#,
    )]);
    let tree = tree(&schema, &text).unwrap();
    let mut printer = json::Printer::new(&schema, Vec::new(), PrintOptions::default());
    tree.emit(&mut printer).unwrap();
    let printed = String::from_utf8(printer.finish().unwrap()).unwrap();
    let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(parse(&printed), parse(&text));
    let mut printer = xml::Printer::new(&schema, Vec::new(), PrintOptions::default());
    tree.emit(&mut printer).unwrap();
    let printed = String::from_utf8(printer.finish().unwrap()).unwrap();
    assert!(
        printed.contains(r#"<root><system xmlns="urn:router"><hostname>h</hostname></system>"#),
        "{printed}"
    );
}

#[test]
fn identities_of_the_mounted_schema_are_values() {
    let schema = schema();
    let with = |media: &str| {
        let members = format!(
            r#""router:system":{{"hostname":"h"}},"router:interface":[{{"name":"a","media":"{media}"}}]"#
        );
        devices(&[&device("r", &members)])
    };
    assert_valid(&schema, &with("copper"));
    assert_valid(&schema, &with("router:copper"));
    assert_invalid(&schema, &with("media"), "media");
}

struct Parts(Vec<Vec<u8>>);

impl SchemaParts for Parts {
    fn part(&self, index: usize) -> Option<Vec<u8>> {
        self.0.get(index).cloned()
    }
}

#[test]
fn the_stored_form_keeps_mounts() {
    let schema = schema();
    let stored = Schema::from_parts(Arc::new(Parts(schema.to_parts().unwrap()))).unwrap();
    assert_eq!(
        format!("{:?}", stored.mounts()),
        format!("{:?}", schema.mounts())
    );
    assert_eq!(stored.own_modules().len(), schema.own_modules().len());
    let nodes = stored.nodes().zip(schema.nodes());
    for (one, other) in nodes {
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
    }
}

/// A module with a mount point of its own, at a list.
const CHASSIS: &str = r#"module chassis {
  yang-version 1.1; namespace "urn:chassis"; prefix ch;
  import ietf-yang-schema-mount { prefix yangmnt; }
  container limits { leaf mtu-max { type uint16; } }
  list slot { key id; leaf id { type uint8; } yangmnt:mount-point "slot"; }
}"#;

#[test]
fn mounts_nest() {
    let mut source = fleet(shared(&[CHASSIS], &[]));
    source
        .mounts
        .push(mount("chassis", "slot", shared(&[ROUTER], &[])));
    let schema = compile(&source);
    let with = |mtu_max: u16| {
        let members = format!(
            r#""chassis:limits":{{"mtu-max":1}},"chassis:slot":[{{"id":1,
               "router:system":{{"hostname":"h","main":"a"}},
               "router:limits":{{"mtu-max":{mtu_max}}},
               "router:interface":[{{"name":"a","mtu":100}}]}}]"#
        );
        devices(&[&device("r", &members)])
    };
    assert_valid(&schema, &with(100));
    assert_invalid(&schema, &with(99), "mtu");
    let paths: Vec<String> = schema
        .mounts()
        .iter()
        .map(|mount| schema.path(mount.node))
        .collect();
    assert_eq!(
        paths,
        [
            "/fleet:devices/device/root",
            "/fleet:devices/device/root/chassis:slot"
        ]
    );
}

/// Alarms that refer to what they are about. What happens when it is removed: `store/tests/validation/mounts.rs`.
const ALARMS: &str = r#"module alarms {
  yang-version 1.1; namespace "urn:alarms"; prefix al;
  list alarm {
    key id; leaf id { type uint8; }
    leaf resource { type instance-identifier; }
    leaf loose { type union { type instance-identifier { require-instance false; } type uint8; } }
    must "not(resource) or deref(resource)/al:id or deref(resource)/self::al:id";
  }
}"#;

#[test]
fn an_instance_identifier_starts_at_the_instance_of_the_mount_point() {
    let schema = compile(&fleet(shared(&[ALARMS, ROUTER], &[])));
    let with = |resource: &str| {
        let of = |name, resource: &str| {
            let members = format!(
                r#""router:system":{{"hostname":"h"}},
                   "alarms:alarm":[{{"id":1}},{{"id":2,"resource":"{resource}"}}]"#
            );
            device(name, &members)
        };
        devices(&[&of("a", resource), &of("b", "/alarms:alarm[id='2']")])
    };
    assert_valid(&schema, &with("/alarms:alarm[id='1']"));
    assert_valid(&schema, &with("/alarms:alarm[id='1']/id"));
    assert_invalid(&schema, &with("/alarms:alarm[id='3']"), "refers to nothing");
    assert_invalid(&schema, &with("/router:system"), "does not hold");
    // Not from the root of the datastore.
    assert_invalid(
        &schema,
        &with("/fleet:devices/device[name='a']"),
        "resource",
    );
    assert_invalid(&schema, &with("/alarm[id='1']"), "resource");
}
