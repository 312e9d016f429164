//! `<edit-config>` (RFC 6241 §7.2): every operation, and every constraint of the model.

use super::requests::{delete, edit, edit_in, edit_with, edit_xml, json, read, set};
use crate::everywhere::{Case, Request};

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![
        merges(),
        replaces(),
        creates(),
        deletes(),
        removes(),
        in_xml(),
        default_operations(),
        test_options(),
        positions(),
        choices(),
        constraints(),
        authors(),
    ]
}

fn merges() -> Case {
    Case::new("merge")
        .ok(edit(r#"{"orchard:c":{"text":"new"}}"#))
        .ok(edit(r#"{"orchard:c":{"text":"new"}}"#))
        .ok(edit(r#"{"orchard:c":{"e":[{"k":"c","l":3,"box":{"v":"9"}}]}}"#))
        .ok(edit(r#"{"orchard:c":{"e":[{"@":{"ietf-netconf:operation":"merge"},"k":"a","l":1,"o":"y"}]}}"#))
        .ok(edit(r#"{"orchard:tree":[{"name":"ash"}],"orchard:tag":["z"]}"#))
        .ok(edit(r#"{"orchard:c":{"data":{"anything":[1,2,{"x":null}]}}}"#))
        .ok(edit("{}"))
        .ok(read("/"))
}

fn replaces() -> Case {
    Case::new("replace")
        .ok(edit(r#"{"orchard:c":{"e":[{"@":{"ietf-netconf:operation":"replace"},"k":"a","l":1,"o":"only"}]}}"#))
        .ok(edit(r#"{"orchard:c":{"e":[{"@":{"ietf-netconf:operation":"replace"},"k":"new","l":1}]}}"#))
        .ok(edit(r#"{"orchard:c":{"text":"b","@text":{"ietf-netconf:operation":"replace"}}}"#))
        .ok(edit(r#"{"orchard:c":{"@":{"ietf-netconf:operation":"replace"},"text":"all"}}"#))
        .ok(read("/orchard:c"))
}

fn creates() -> Case {
    Case::new("create")
        .ok(edit(
            r#"{"orchard:c":{"e":[{"@":{"ietf-netconf:operation":"create"},"k":"n","l":1}]}}"#,
        ))
        .fails(
            "data-exists",
            edit(
                r#"{"orchard:c":{"e":[{"@":{"ietf-netconf:operation":"create"},"k":"a","l":1}]}}"#,
            ),
        )
        .fails(
            "data-exists",
            edit(r#"{"orchard:c":{"text":"x","@text":{"ietf-netconf:operation":"create"}}}"#),
        )
        .fails(
            "data-exists",
            edit(r#"{"orchard:c":{"w":["1"],"@w":[{"ietf-netconf:operation":"create"}]}}"#),
        )
        .ok(edit(
            r#"{"orchard:c":{"p":{"@":{"ietf-netconf:operation":"create"},"m":"x"}}}"#,
        ))
        .fails(
            "data-exists",
            edit(r#"{"orchard:c":{"p":{"@":{"ietf-netconf:operation":"create"},"m":"y"}}}"#),
        )
}

fn deletes() -> Case {
    Case::new("delete")
        .ok(edit(
            r#"{"orchard:c":{"e":[{"@":{"ietf-netconf:operation":"delete"},"k":"a","l":1}]}}"#,
        ))
        .fails(
            "data-missing",
            edit(
                r#"{"orchard:c":{"e":[{"@":{"ietf-netconf:operation":"delete"},"k":"a","l":1}]}}"#,
            ),
        )
        .ok(edit(
            r#"{"orchard:c":{"@prefix":{"ietf-netconf:operation":"delete"}}}"#,
        ))
        .fails(
            "data-missing",
            edit(r#"{"orchard:c":{"@prefix":{"ietf-netconf:operation":"delete"}}}"#),
        )
        .fails(
            "data-missing",
            edit(r#"{"orchard:c":{"p":{"@":{"ietf-netconf:operation":"delete"}}}}"#),
        )
        .ok(delete("/orchard:c/u=2"))
        .fails("data-missing", delete("/orchard:c/u=2"))
        .ok(delete("/orchard:c/w=1"))
        .fails("data-missing", delete("/orchard:c/w=1"))
        .ok(delete("/orchard:c/text"))
        .fails("data-missing", delete("/orchard:c/text"))
        .fails("data-missing", delete("/orchard:c/e=z,1/box/v"))
        .fails("data-missing", delete("/orchard:tree=ash"))
        .fails("operation-not-supported", delete("/orchard:tree=oak/name"))
        .ok(delete("/orchard:tree"))
        .fails("data-missing", delete("/orchard:tree"))
        .fails("unknown-element", delete("/orchard:c/absent"))
        .ok(read("/"))
}

fn removes() -> Case {
    Case::new("remove")
        .ok(edit(
            r#"{"orchard:c":{"e":[{"@":{"ietf-netconf:operation":"remove"},"k":"a","l":1}]}}"#,
        ))
        .ok(edit(
            r#"{"orchard:c":{"e":[{"@":{"ietf-netconf:operation":"remove"},"k":"a","l":1}]}}"#,
        ))
        .ok(edit(
            r#"{"orchard:c":{"@size":{"ietf-netconf:operation":"remove"}}}"#,
        ))
        .ok(read("/orchard:c"))
}

fn in_xml() -> Case {
    Case::new("edits in XML")
        .ok(edit_xml("<c xmlns=\"urn:espalier:test:orchard\"><text>x</text></c>"))
        .ok(edit_xml(
            "<c xmlns=\"urn:espalier:test:orchard\" xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\"><e nc:operation=\"delete\"><k>b</k><l>2</l></e></c>",
        ))
        .fails(
            "data-missing",
            edit_xml(
                "<c xmlns=\"urn:espalier:test:orchard\" xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\"><e nc:operation=\"delete\"><k>b</k><l>2</l></e></c>",
            ),
        )
        .fails(
            "invalid-value",
            edit_xml("<c xmlns=\"urn:espalier:test:orchard\">\n  <weight>11</weight>\n</c>"),
        )
        .ok(edit_xml(
            "<c xmlns=\"urn:espalier:test:orchard\" xmlns:yang=\"urn:ietf:params:xml:ns:yang:1\"><w yang:insert=\"before\" yang:value=\"2\">9</w></c>",
        ))
        .ok(read("/"))
}

fn default_operations() -> Case {
    Case::new("default-operation")
        .ok(edit_with(
            "running",
            json(r#"{"orchard:c":{"text":"m"}}"#),
            "merge",
            "",
        ))
        .fails(
            "data-missing",
            edit_with(
                "running",
                json(r#"{"orchard:tree":[{"name":"new"}]}"#),
                "none",
                "",
            ),
        )
        .ok(edit_with(
            "running",
            json(
                r#"{"orchard:c":{"e":[{"k":"a","l":1,"@o":{"ietf-netconf:operation":"delete"}}]}}"#,
            ),
            "none",
            "",
        ))
        .ok(edit_with(
            "running",
            json(r#"{"orchard:c":{"text":"alone"}}"#),
            "replace",
            "",
        ))
        .ok(read("/"))
}

fn test_options() -> Case {
    let wrong = r#"{"orchard:c":{"weight":9}}"#;
    Case::new("test-option")
        .ok(edit_with(
            "running",
            json(r#"{"orchard:c":{"text":"t"}}"#),
            "",
            "test-only",
        ))
        .fails(
            "operation-failed",
            edit_with("running", json(wrong), "", "test-only"),
        )
        .fails(
            "operation-failed",
            edit_with("running", json(wrong), "", "test-then-set"),
        )
        .ok(edit_in("candidate", json(wrong)))
        .fails(
            "operation-failed",
            edit_with("candidate", json(wrong), "", "test-then-set"),
        )
        .ok(edit_with(
            "running",
            json(r#"{"orchard:c":{"text":"t"}}"#),
            "",
            "test-then-set",
        ))
        .ok(read("/orchard:c/text"))
}

fn positions() -> Case {
    Case::new("insert in documents")
        .ok(edit(r#"{"orchard:c":{"u":[{"@":{"yang:insert":"first"},"k":"f"}]}}"#))
        .ok(edit(r#"{"orchard:c":{"u":[{"@":{"yang:insert":"before","yang:key":"[k='2']"},"k":"b"}]}}"#))
        .ok(edit(r#"{"orchard:c":{"u":[{"@":{"yang:insert":"after","yang:key":"[k='2']"},"k":"f"}]}}"#))
        .ok(edit(r#"{"orchard:c":{"w":["9"],"@w":[{"yang:insert":"after","yang:value":"1"}]}}"#))
        .fails("missing-attribute", edit(r#"{"orchard:c":{"u":[{"@":{"yang:insert":"before"},"k":"n"}]}}"#))
        .fails("bad-attribute", edit(r#"{"orchard:c":{"u":[{"@":{"yang:insert":"middle"},"k":"n"}]}}"#))
        .fails("bad-attribute", edit(r#"{"orchard:c":{"u":[{"@":{"yang:insert":"before","yang:key":"[k='7']"},"k":"n"}]}}"#))
        .ok(read("/orchard:c"))
}

fn choices() -> Case {
    Case::new("choices")
        .ok(edit(r#"{"orchard:c":{"table":"t"}}"#))
        .ok(read("/orchard:c"))
        .ok(edit(r#"{"orchard:c":{"pc":{"x":"1"}}}"#))
        .ok(read("/orchard:c"))
        .fails(
            "bad-element",
            edit(r#"{"orchard:c":{"prefix":"a","table":"b"}}"#),
        )
}

fn constraints() -> Case {
    Case::new("constraints")
        .fails("operation-failed", set("/orchard:c/weight", "9"))
        .fails("data-missing", set("/orchard:c/ref", "7"))
        .fails("data-missing", delete("/orchard:c/q=1"))
        .fails(
            "operation-failed",
            edit(r#"{"orchard:c":{"q":[{"k":"3","a":"s"}]}}"#),
        )
        .fails("operation-failed", edit(r#"{"orchard:c":{"few":[1,2,3]}}"#))
        .fails("data-missing", edit(r#"{"orchard:c":{"p":{}}}"#))
        .ok(set("/orchard:c/bright", "yes"))
        .ok(set("/orchard:c/text", "off"))
        .missing(read("/orchard:c/bright"))
        .fails("unknown-element", set("/orchard:c/bright", "yes"))
        .fails(
            "operation-failed",
            edit(r#"{"orchard:c":{"weight":9,"ref":"7","few":[1,2,3],"p":{}}}"#),
        )
        .ok(read("/"))
}

fn authors() -> Case {
    Case::new("authors and comments")
        .ok(Request::from(set("/orchard:c/text", "one")).by("maria", "the first"))
        .ok(Request::from(edit(r#"{"orchard:c":{"text":"two"}}"#)).by("jan", "ä, ö: 100 %"))
        .ok(Request::from(delete("/orchard:c/text")).by("é", ""))
        .ok(set("/orchard:c/text", "no author"))
}
