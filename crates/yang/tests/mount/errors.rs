//! Mounts that cannot be compiled.

use espalier_yang::Schema;
use espalier_yang::schema::SchemaSource;

use crate::fixture::{FLEET, ROUTER, fleet, inline, modules, mount, shared};

#[track_caller]
fn check(source: &SchemaSource, expected: &str) {
    let errors = Schema::compile(source).expect_err(expected).to_string();
    assert!(errors.contains(expected), "{errors:?}");
}

#[test]
fn a_label_must_exist_and_be_defined_once() {
    let other = SchemaSource {
        mounts: vec![mount("fleet", "other", shared(&[ROUTER], &[]))],
        ..modules(&[FLEET])
    };
    check(&other, "The mount point fleet:other: no node has it.");
    let mut twice = fleet(shared(&[ROUTER], &[]));
    twice.mounts.push(twice.mounts[0].clone());
    check(
        &twice,
        "The mount point fleet:device: it has two definitions.",
    );
}

#[test]
fn errors_of_mounted_modules_are_located() {
    let broken = "module broken { namespace urn:b; prefix b;\n leaf x { type missing; } }";
    let schemas: [(&str, &[&str]); 1] = [("m", &[broken])];
    let source = fleet(inline("model", &schemas));
    check(&source, "broken.yang:");
    check(&source, "(Mounted at fleet:device, m.)");
}

#[test]
fn a_mounted_node_must_differ_from_the_children_of_the_mount_point() {
    let clash = "module clash { yang-version 1.1; namespace urn:clash; prefix c;
        import ietf-yang-schema-mount { prefix yangmnt; }
        list top { key name; leaf name { type string; } yangmnt:mount-point x; }
        leaf name { type string; } }";
    let source = SchemaSource {
        mounts: vec![mount("clash", "x", shared(&[clash], &[]))],
        ..modules(&[clash])
    };
    check(&source, "/clash:top has a child name of its own");
}

#[test]
fn the_selector_is_a_leaf_of_configuration() {
    let schemas: [(&str, &[&str]); 1] = [("m", &[ROUTER])];
    check(
        &fleet(inline("nothing", &schemas)),
        "there is no leaf nothing at it or above it",
    );
    let state = FLEET.replace("leaf model {", "leaf model { config false;");
    let source = SchemaSource {
        mounts: vec![mount("fleet", "device", inline("model", &schemas))],
        ..modules(&[&state])
    };
    check(&source, "the leaf model is state data");
}

#[test]
fn schemas_of_one_mount_point_agree_in_the_form_of_their_data() {
    let module = |statement: &str| {
        format!("module m {{ namespace urn:m; prefix m; container c {{ {statement} }} }}")
    };
    let one = module("leaf a { type string; }");
    for other in [
        "leaf a { type int8; }",
        "leaf a { type string; default x; }",
        "leaf-list a { type string; }",
        "leaf a { type string; mandatory true; }",
        "leaf a { type union { type string; } }",
        "choice h { leaf a { type string; } }",
    ] {
        let other = module(other);
        let schemas: [(&str, &[&str]); 2] = [("x", &[&one]), ("y", &[&other])];
        check(
            &fleet(inline("model", &schemas)),
            "two schemas define /fleet:devices/device/root/m:c/a differently",
        );
    }
}

#[test]
fn a_module_has_one_namespace() {
    let module = "module fleet { namespace urn:other; prefix o; leaf x { type string; } }";
    check(
        &fleet(shared(&[module], &[])),
        "another module has the name fleet or the namespace urn:other",
    );
}
