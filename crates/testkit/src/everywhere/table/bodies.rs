//! Malformed documents, as edits and as loads, and the errors in well-formed ones.

use super::requests::{edit, edit_xml, json, load, load_over, read, xml};
use crate::everywhere::{Case, Request};

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![
        malformed_json(),
        malformed_xml(),
        structure(),
        metadata(),
        loads(),
        rejected_loads(),
    ]
}

fn malformed_json() -> Case {
    [
        "",
        "{",
        "[]",
        "null",
        "{\"orchard:c\":{\"text\":\"x\"}",
        "{\"orchard:c\":{\"text\":\"x\",}}",
        "{\"orchard:c\":{\"text\":\"x\"}} {}",
        "{\"orchard:c\":\n{\"text\":\"\\ud800\"}}",
        "{\"orchard:c\":{\"weight\":01}}",
        "<c/>",
    ]
    .into_iter()
    .fold(Case::new("malformed JSON"), |case, text| {
        case.fails("malformed-message", edit(text))
    })
}

fn malformed_xml() -> Case {
    [
        "<c xmlns=\"urn:espalier:test:orchard\">",
        "<c xmlns=\"urn:espalier:test:orchard\"><text>x</c>",
        "<o:c/>",
        "<c xmlns=\"urn:espalier:test:orchard\">&nothing;</c>",
        "<!DOCTYPE c [<!ENTITY a \"b\">]><c xmlns=\"urn:espalier:test:orchard\"/>",
    ]
    .into_iter()
    .fold(Case::new("malformed XML"), |case, text| {
        case.fails("malformed-message", edit_xml(text))
    })
}

fn structure() -> Case {
    let table = [
        ("unknown-element", r#"{"orchard:absent":{}}"#),
        ("unknown-element", r#"{"orchard:c":{"absent":1}}"#),
        ("unknown-namespace", r#"{"other:c":{}}"#),
        ("unknown-element", r#"{"c":{}}"#),
        ("missing-element", r#"{"orchard:c":{"e":[{"k":"a"}]}}"#),
        (
            "bad-element",
            r#"{"orchard:c":{"e":[{"k":"a","l":1},{"k":"a","l":1}]}}"#,
        ),
        ("bad-element", r#"{"orchard:c":{"text":"a","text":"b"}}"#),
        ("invalid-value", r#"{"orchard:c":[]}"#),
        ("invalid-value", r#"{"orchard:c":{"e":{}}}"#),
        ("invalid-value", r#"{"orchard:c":{"text":{}}}"#),
        ("bad-element", r#"{"orchard:tag":["x","x"]}"#),
        ("unknown-element", r#"{"orchard:water":{"x":"1"}}"#),
        ("invalid-value", r#"{"orchard:c":{"text":null}}"#),
        (
            "unknown-element",
            "{\"orchard:c\":{\n\"a\":1,\n\"b\":2,\n\"text\":\"UP\"}}",
        ),
    ];
    let case = Case::new("structure");
    table
        .into_iter()
        .fold(case, |case, (tag, text)| case.fails(tag, edit(text)))
}

fn metadata() -> Case {
    let table = [
        (
            "bad-attribute",
            r#"{"orchard:c":{"@":{"ietf-netconf:operation":"destroy"},"text":"x"}}"#,
        ),
        ("bad-attribute", r#"{"orchard:c":{"text":"x","@text":7}}"#),
        (
            "unknown-attribute",
            r#"{"orchard:c":{"text":"x","@text":{"other:thing":"1"}}}"#,
        ),
        (
            "missing-element",
            r#"{"orchard:c":{"@text":{"ietf-netconf:operation":"merge"}}}"#,
        ),
    ];
    let case = Case::new("metadata");
    table
        .into_iter()
        .fold(case, |case, (tag, text)| case.fails(tag, edit(text)))
}

fn loads() -> Case {
    Case::new("loads")
        .ok(load(json(
            r#"{"orchard:c":{"text":"loaded"},"orchard:tag":["new"]}"#,
        )))
        .ok(load(xml(
            "<tree xmlns=\"urn:espalier:test:orchard\"><name>ash</name></tree>",
        )))
        .ok(load(json("{}")))
        .ok(read("/"))
        .ok(
            Request::from(load_over(json(r#"{"orchard:c":{"text":"alone"}}"#)))
                .by("maria", "all anew"),
        )
        .ok(read("/"))
        .ok(load_over(json("{}")))
        .ok(read("/"))
        .ok(load_over(json(r#"{"orchard:tree":[{"name":"first"}]}"#)))
}

fn rejected_loads() -> Case {
    Case::new("rejected loads")
        .fails("malformed-message", load(json("{")))
        .fails("malformed-message", load_over(json("nothing")))
        .fails("unknown-element", load(json(r#"{"orchard:absent":1}"#)))
        .fails(
            "invalid-value",
            load(json("{\"orchard:c\":\n{\"weight\":0}}")),
        )
        .fails(
            "operation-failed",
            load(json(r#"{"orchard:c":{"weight":9}}"#)),
        )
        .fails(
            "operation-failed",
            load_over(json(r#"{"orchard:c":{"weight":9}}"#)),
        )
        .fails(
            "data-missing",
            load_over(json(r#"{"orchard:c":{"ref":"1"}}"#)),
        )
        .fails("malformed-message", load(xml("<tree")))
        .ok(read("/"))
}
