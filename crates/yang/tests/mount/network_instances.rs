//! RFC 8528 appendix A: network instances with routing, whose leafrefs refer to interfaces of the parent schema.

use espalier_yang::Schema;
use espalier_yang::schema::SchemaSource;

use crate::fixture::{assert_invalid, assert_valid, compile, modules, mount, shared};

const INTERFACES: &str = r#"module interfaces {
  yang-version 1.1; namespace "urn:interfaces"; prefix if;
  container interfaces {
    list interface { key name; leaf name { type string; } leaf enabled { type boolean; default true; } }
  }
}"#;

const INSTANCES: &str = r#"module instances {
  yang-version 1.1; namespace "urn:instances"; prefix ni;
  import ietf-yang-schema-mount { prefix yangmnt; }
  import interfaces { prefix if; }
  container instances {
    list instance {
      key name;
      leaf name { type string; }
      container vrf-root { yangmnt:mount-point "vrf-root"; }
    }
  }
  augment "/if:interfaces/if:interface" {
    leaf bind { type leafref { path "/ni:instances/ni:instance/ni:name"; } }
  }
}"#;

const ROUTING: &str = r#"module routing {
  yang-version 1.1; namespace "urn:routing"; prefix rt;
  import interfaces { prefix if; }
  container routing {
    must "not(rt:only-enabled = 'true') or not(/if:interfaces/if:interface[if:enabled = 'false'])";
    leaf only-enabled { type boolean; }
    list port {
      key name;
      leaf name { type string; }
      leaf interface { type leafref { path "/if:interfaces/if:interface/if:name"; } }
    }
    leaf main { type leafref { path "/rt:routing/rt:port/rt:name"; } }
  }
}"#;

fn source(references: &[&str]) -> SchemaSource {
    let mut mounted = shared(&[ROUTING, INTERFACES], references);
    if let espalier_yang::schema::MountedSchemas::Shared { schema, .. } = &mut mounted {
        schema.implement = vec!["routing".to_owned()];
    }
    SchemaSource {
        mounts: vec![mount("instances", "vrf-root", mounted)],
        ..modules(&[INTERFACES, INSTANCES])
    }
}

fn schema() -> Schema {
    compile(&source(&[
        "/interfaces:interfaces/interfaces:interface[instances:bind = current()/../instances:name]",
    ]))
}

fn document(routing: &str) -> String {
    format!(
        r#"{{"interfaces:interfaces":{{"interface":[
             {{"name":"eth0","instances:bind":"red"}},
             {{"name":"eth1","instances:bind":"blue","enabled":false}},
             {{"name":"eth2"}}]}},
           "instances:instances":{{"instance":[
             {{"name":"red","vrf-root":{{"routing:routing":{{{routing}}}}}}},
             {{"name":"blue","vrf-root":{{"routing:routing":{{"port":[{{"name":"p","interface":"eth1"}}]}}}}}}]}}}}"#
    )
}

#[test]
fn references_of_mounted_leaves_lead_to_the_parent_schema() {
    let schema = schema();
    let port = |interface: &str| {
        document(&format!(
            r#""port":[{{"name":"p","interface":"{interface}"}}],"main":"p""#
        ))
    };
    assert_valid(&schema, &port("eth0"));
    // Bound to the other instance, to none, and missing.
    for interface in ["eth1", "eth2", "eth3"] {
        assert_invalid(&schema, &port(interface), "refers to nothing");
    }
    assert_invalid(&schema, &document(r#""main":"p""#), "refers to nothing");
}

#[test]
fn expressions_see_only_the_referenced_nodes() {
    let schema = schema();
    assert_valid(&schema, &document(r#""only-enabled":true"#));
    let blue = document("").replace(r#""port""#, r#""only-enabled":true,"port""#);
    assert_invalid(&schema, &blue, "does not hold");
}

#[test]
fn modules_that_only_references_need_are_not_mounted() {
    let schema = schema();
    let mounted = &schema.mounts()[0];
    let children = &schema.node(mounted.node).children;
    let names: Vec<&str> = children
        .iter()
        .map(|&child| &*schema.node(child).name)
        .collect();
    assert!(
        names.contains(&"routing") && !names.contains(&"interfaces"),
        "{names:?}"
    );
}

#[test]
fn a_parent_reference_names_nodes_by_their_modules() {
    for (reference, reason) in [
        ("/interfaces", "has a step that is not module:name"),
        ("interfaces:interfaces", "is not an absolute path"),
        ("/nothing:x", "cannot be parsed"),
        ("/*[true()]", "has a step that is not module:name"),
    ] {
        let errors = Schema::compile(&source(&[reference]))
            .unwrap_err()
            .to_string();
        assert!(errors.contains(reason), "{reference}: {errors}");
    }
}
