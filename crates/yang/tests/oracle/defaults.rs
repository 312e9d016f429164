//! Defaults are in canonical form, including those of typedefs.

use espalier_yang::schema::{ModuleSource, SchemaSource};
use espalier_yang::{NodeId, Schema};

fn schema() -> Schema {
    let module = ModuleSource {
        name: "every-type".into(),
        revision: Some("2026-01-01".into()),
        text: include_str!("../models/every-type.yang").into(),
    };
    let source = SchemaSource {
        modules: vec![module],
        ..SchemaSource::default()
    };
    Schema::compile(&source).unwrap()
}

fn node(schema: &Schema, container: &str, leaf: &str) -> NodeId {
    let module = schema.module_by_name("every-type").unwrap();
    let container = schema.child(None, module, container).unwrap();
    schema.child(Some(container), module, leaf).unwrap()
}

fn defaults(schema: &Schema, container: &str, leaf: &str) -> Vec<String> {
    let value = schema
        .node(node(schema, container, leaf))
        .as_value()
        .unwrap();
    value.defaults.iter().map(ToString::to_string).collect()
}

#[test]
fn defaults_are_canonical() {
    let schema = schema();
    let cases: [(&str, &[&str]); 18] = [
        ("int8", &["-16"]),
        ("int16", &["15"]),
        ("int32", &["-5"]),
        ("int64", &["9223372036854775807"]),
        ("uint64", &["18446744073709551615"]),
        ("uint8", &[]),
        ("percent", &["50"]),
        ("even-percent", &["2"]),
        ("decimal2", &["3.14"]),
        ("boolean", &["true"]),
        ("enumeration", &["two words"]),
        ("bits", &["first tenth"]),
        ("short-binary", &["AAEC"]),
        ("identity", &["every-type:cat"]),
        ("identity-unprefixed", &["every-type:lion"]),
        ("leafref", &["8"]),
        ("union", &["auto"]),
        ("several", &["3", "2"]),
    ];
    for (leaf, expected) in cases {
        assert_eq!(defaults(&schema, "types", leaf), expected, "{leaf}");
    }
    assert_eq!(
        defaults(&schema, "canonical", "ipv6-address"),
        ["2001:db8::1"]
    );
}
