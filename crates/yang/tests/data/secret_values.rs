//! No error quotes a value of a leaf with secret values, whatever is wrong with it.

use espalier_yang::data::{ParseError, ParseOptions, Root};
use espalier_yang::schema::{ModuleSource, Schema, SchemaSource};

use crate::documents::{parse_json, parse_xml};

/// `MARK` and `TYPE` are replaced by a mark, or nothing, and the name of a typedef.
const MODEL: &str = "module m { yang-version 1.1; namespace urn:m; prefix m;
    import ietf-netconf-acm { prefix nacm; }
    typedef TYPE { type string { length 1..9; pattern '[$].*'; } }
    typedef derived { type TYPE; }
    identity base; identity other;
    container c { MARK
        container inner {
            leaf length { type string { length 1..9; } }
            leaf pattern { type string { pattern '[$].*'; } }
            leaf inverted { type string { pattern 'hunter.*' { modifier invert-match; } } }
            leaf enumeration { type enumeration { enum a; } }
            leaf bits { type bits { bit a; } }
            leaf boolean { type boolean; }
            leaf empty { type empty; }
            leaf integer { type uint8; }
            leaf decimal { type decimal64 { fraction-digits 2; } }
            leaf binary { type binary; }
            leaf identity { type identityref { base base; } }
            leaf instance { type instance-identifier; }
            leaf union { type union { type uint8; type enumeration { enum a; } } }
            leaf reference { type leafref { path ../pattern; } }
            leaf-list many { type uint8; }
        }
    }
    leaf typed { type TYPE; }
    leaf derived { type derived; }
    leaf member { type union { type uint8; type TYPE; } }
    leaf reference { type leafref { path ../typed; } }
    leaf-list many { type TYPE; }
}";

const VALUE: &str = "hunter2 and more";

const MARKED: [&str; 14] = [
    "length",
    "pattern",
    "inverted",
    "enumeration",
    "bits",
    "boolean",
    "empty",
    "integer",
    "decimal",
    "binary",
    "identity",
    "instance",
    "union",
    "reference",
];

fn schema(mark: &str, typedef: &str) -> Schema {
    let text = MODEL.replace("MARK", mark).replace("TYPE", typedef);
    let source = SchemaSource {
        modules: ModuleSource::from_text(text).into_iter().collect(),
        ..SchemaSource::default()
    };
    Schema::compile(&source).expect("the model")
}

/// A document of each leaf of [`MODEL`] with a value, in JSON and XML.
fn documents(value: &str) -> Vec<[String; 2]> {
    let inner = MARKED.iter().map(|leaf| {
        let json = format!(r#"{{"m:c":{{"inner":{{"{leaf}":"{value}"}}}}}}"#);
        let xml = format!(r#"<c xmlns="urn:m"><inner><{leaf}>{value}</{leaf}></inner></c>"#);
        [json, xml]
    });
    let typed = ["typed", "derived", "member", "reference"]
        .iter()
        .map(|leaf| {
            let json = format!(r#"{{"m:{leaf}":"{value}"}}"#);
            [json, format!(r#"<{leaf} xmlns="urn:m">{value}</{leaf}>"#)]
        });
    let lists = [
        [
            format!(r#"{{"m:c":{{"inner":{{"many":["{value}"]}}}}}}"#),
            format!(r#"<c xmlns="urn:m"><inner><many>{value}</many></inner></c>"#),
        ],
        [
            format!(r#"{{"m:many":["{value}"]}}"#),
            format!(r#"<many xmlns="urn:m">{value}</many>"#),
        ],
    ];
    inner.chain(typed).chain(lists).collect()
}

/// The errors of both formats, as shown and in full.
fn errors(schema: &Schema, [json, xml]: &[String; 2]) -> [String; 2] {
    let options = ParseOptions::default();
    let xml = format!("<data xmlns=\"urn:ietf:params:xml:ns:yang:ietf-restconf\">{xml}</data>");
    let results = [
        parse_json(schema, json, Root::Datastore, &options),
        parse_xml(schema, &xml, Root::Datastore, &options),
    ];
    results.map(|result| match result {
        Err(error @ ParseError::Invalid(_)) => format!("{error} {error:?}"),
        other => panic!("{json}: {other:?}"),
    })
}

#[test]
fn errors_do_not_quote_secret_values() {
    let secret = schema("nacm:default-deny-all;", "crypt-hash");
    let open = schema("", "word");
    let mut quoted = 0;
    for document in documents(VALUE) {
        for shown in errors(&secret, &document) {
            assert!(!shown.contains("hunter2"), "{shown}");
        }
        for shown in errors(&open, &document) {
            quoted += usize::from(shown.contains("hunter2"));
        }
    }
    // The JSON encoding is wrong for seven types, and none of their values is quoted.
    assert!(quoted > documents(VALUE).len(), "{quoted} are quoted");
}

#[test]
fn errors_do_not_name_characters_of_secret_values() {
    let secret = schema("nacm:default-deny-all;", "crypt-hash");
    for leaf in [
        "\"m:typed\":\"\\u0001\"",
        r#""m:c":{"inner":{"pattern":"\u0001"}}"#,
    ] {
        let json = format!("{{{leaf}}}");
        let result = parse_json(&secret, &json, Root::Datastore, &ParseOptions::default());
        let shown = result.expect_err("a control character").to_string();
        assert!(
            shown.contains("not allowed") && !shown.contains("0001"),
            "{shown}"
        );
    }
}
