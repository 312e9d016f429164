//! Instances of one mount point with different schemas.

use espalier_yang::Schema;

use crate::fixture::{
    OPTICS, ROUTER, assert_invalid, assert_valid, compile, device_of, devices, fleet, inline,
};

fn schema() -> Schema {
    let schemas: [(&str, &[&str]); 2] = [("plain", &[ROUTER]), ("optical", &[ROUTER, OPTICS])];
    compile(&fleet(inline("model", &schemas)))
}

const SYSTEM: &str = r#""router:system":{"hostname":"h"}"#;

fn with(model: &str, members: &str) -> String {
    devices(&[&device_of(model, &format!("{SYSTEM},{members}"))])
}

#[test]
fn a_node_exists_only_in_instances_whose_schema_has_it() {
    let schema = schema();
    let transponder = r#""optics:transponder":{"channel":1}"#;
    assert_valid(&schema, &with("optical", transponder));
    assert_invalid(&schema, &with("plain", transponder), "when");
    assert_invalid(&schema, &with("unknown", transponder), "when");
    let wavelength = r#""optics:transponder":{"channel":1},
                        "router:interface":[{"name":"a","wavelength":1550}]"#;
    let wavelength = &wavelength.replace("wavelength", "optics:wavelength");
    assert_valid(&schema, &with("optical", wavelength));
    assert_invalid(&schema, &with("plain", wavelength), "when");
}

#[test]
fn mandatory_nodes_of_other_schemas_do_not_count() {
    let schema = schema();
    let interface = r#""router:interface":[{"name":"a"}]"#;
    assert_valid(&schema, &with("plain", interface));
    assert_invalid(&schema, &with("optical", interface), "channel");
}

#[test]
fn an_instance_without_a_schema_is_empty() {
    let schema = schema();
    let without = r#"{"fleet:devices":{"device":[{"name":"d"}]}}"#;
    assert_valid(&schema, without);
    assert_invalid(
        &schema,
        r#"{"fleet:devices":{"device":[{"name":"d","root":{"router:system":{"hostname":"h"}}}]}}"#,
        "when",
    );
}

/// A `must` in one of two revisions.
const NEWER: &str = r#"module router {
  yang-version 1.1; namespace "urn:router"; prefix rt;
  revision 2026-01-01;
  container system {
    must "rt:contact";
    leaf hostname { type string; mandatory true; }
    leaf contact { type string; }
    choice time { case ntp { leaf server { type string; } } case ptp { leaf domain { type uint8; } } }
  }
}"#;

const OLDER: &str = r#"module router {
  yang-version 1.1; namespace "urn:router"; prefix rt;
  revision 2024-01-01;
  container system {
    leaf hostname { type string; mandatory true; }
    choice time { case ntp { leaf server { type string; } } }
  }
}"#;

#[test]
fn two_revisions_of_a_module_differ_in_nodes_cases_and_constraints() {
    let schemas: [(&str, &[&str]); 2] = [("old", &[OLDER]), ("new", &[NEWER])];
    let schema = compile(&fleet(inline("model", &schemas)));
    let with = |model: &str, more: &str| {
        let members = format!(r#""router:system":{{"hostname":"h"{more}}}"#);
        devices(&[&device_of(model, &members)])
    };
    assert_valid(&schema, &with("old", r#","server":"s""#));
    assert_invalid(&schema, &with("new", r#","server":"s""#), "does not hold");
    assert_valid(&schema, &with("new", r#","contact":"c","domain":1"#));
    assert_invalid(&schema, &with("old", r#","domain":1"#), "when");
    assert_invalid(&schema, &with("old", r#","contact":"c""#), "when");
    let both = with("new", r#","contact":"c","domain":1,"server":"s""#);
    assert_invalid(&schema, &both, "cases");
    let revisions = schema.mounts()[0].schemas.iter().map(|mounted| {
        let mut modules = mounted.modules.iter();
        let router = modules.find(|module| *module.name == *"router").unwrap();
        (&*mounted.name, router.revision.as_deref().unwrap())
    });
    let revisions: Vec<_> = revisions.collect();
    assert_eq!(revisions, [("new", "2026-01-01"), ("old", "2024-01-01")]);
}

/// Two types; a value of the first, one of the second, one of both.
type TypePair = ([&'static str; 2], [&'static str; 3]);

const TYPE_PAIRS: [TypePair; 6] = [
    (
        ["int8 { range '1..5 | 9'; }", "int8 { range '-3..3'; }"],
        ["9", "-2", "2"],
    ),
    (
        [
            "decimal64 { fraction-digits 1; range '1.5..5'; }",
            "decimal64 { fraction-digits 1; range '0..2'; }",
        ],
        [r#""5.0""#, r#""1.4""#, r#""1.5""#],
    ),
    (
        [
            "string { length '1..3'; pattern '[a-z]*'; }",
            "string { pattern '[a-z]*'; pattern 'x.*' { modifier invert-match; } }",
        ],
        [r#""xy""#, r#""abcd""#, r#""ab""#],
    ),
    (
        [
            "enumeration { enum a; enum b; }",
            "enumeration { enum a; enum c { value 5; } }",
        ],
        [r#""b""#, r#""c""#, r#""a""#],
    ),
    (
        [
            "bits { bit a { position 0; } bit b { position 3; } }",
            "bits { bit a { position 0; } bit c { position 2; } }",
        ],
        [r#""a b""#, r#""c""#, r#""a""#],
    ),
    (
        ["identityref { base x; }", "identityref { base y; }"],
        [r#""m:x1""#, r#""m:y1""#, r#""m:xy""#],
    ),
];

#[test]
fn a_value_has_the_type_of_the_schema_of_its_instance() {
    for (types, [first, second, both]) in TYPE_PAIRS {
        let module = |of: &str| {
            format!(
                "module m {{ yang-version 1.1; namespace urn:m; prefix m;
                 identity x; identity y; identity x1 {{ base x; }} identity y1 {{ base y; }}
                 identity xy {{ base x; base y; }} leaf v {{ type {of} }} leaf-list l {{ type {of} }}
                 leaf r {{ type leafref {{ path '/m:v'; require-instance false; }} }} }}"
            )
        };
        let [one, two] = types.map(module);
        let schemas: [(&str, &[&str]); 2] = [("one", &[&one]), ("two", &[&two])];
        let schema = compile(&fleet(inline("model", &schemas)));
        for (model, value, is_valid) in [
            ("one", first, true),
            ("two", second, true),
            ("one", both, true),
            ("two", both, true),
            ("one", second, false),
            ("two", first, false),
        ] {
            let leaves = ["v", "r"].map(|leaf| format!(r#""m:{leaf}":{value}"#));
            let list = format!(r#""m:l":[{value}]"#);
            for members in leaves.iter().chain([&list]) {
                let document = devices(&[&device_of(model, members)]);
                match is_valid {
                    true => assert_valid(&schema, &document),
                    false => assert_invalid(&schema, &document, "not of the type"),
                }
            }
        }
    }
}
