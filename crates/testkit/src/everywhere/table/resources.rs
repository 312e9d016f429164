//! Resources: POST, PUT, PATCH and DELETE in the words of RFC 8040 §4, with positions.

use super::requests::{
    at, by, create, create_at, delete, json, merge, read, read_in, replace, replace_at, xml,
};
use crate::everywhere::{Case, Operation, Request};

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![
        creates(),
        replaces(),
        merges(),
        in_xml(),
        in_a_candidate(),
        positions(),
        wrong_positions(),
    ]
}

fn creates() -> Case {
    Case::new("create a resource")
        .ok(create(
            "/orchard:c",
            r#"{"orchard:e":[{"k":"n","l":1,"o":"x"}]}"#,
        ))
        .fails(
            "data-exists",
            create("/orchard:c", r#"{"orchard:e":[{"k":"n","l":1}]}"#),
        )
        .ok(create("/orchard:c", r#"{"orchard:total":"1.5"}"#))
        .fails(
            "data-exists",
            create("/orchard:c", r#"{"orchard:text":"x"}"#),
        )
        .ok(create("/", r#"{"orchard:tree":[{"name":"ash"}]}"#))
        .fails(
            "data-exists",
            create("/", r#"{"orchard:tree":[{"name":"ash"}]}"#),
        )
        .ok(create("/orchard:c/e=n,1/box", r#"{"orchard:v":"deep"}"#))
        .ok(create("/orchard:c", r#"{"orchard:w":["9"]}"#))
        .fails(
            "data-missing",
            create("/orchard:c/e=z,1", r#"{"orchard:o":"x"}"#),
        )
        .fails(
            "data-missing",
            create("/orchard:c/p", r#"{"orchard:m":"x"}"#),
        )
        .ok(create("/orchard:c", r#"{"orchard:p":{"m":"x"}}"#))
        .fails(
            "operation-failed",
            create("/orchard:c", r#"{"orchard:q":[{"k":"9","a":"s"}]}"#),
        )
        .ok(read("/"))
}

fn replaces() -> Case {
    Case::new("replace a resource")
        .ok(replace(
            "/orchard:c/e=a,1",
            r#"{"orchard:e":[{"k":"a","l":1,"o":"only"}]}"#,
        ))
        .ok(replace(
            "/orchard:c/e=n,1",
            r#"{"orchard:e":[{"k":"n","l":1}]}"#,
        ))
        .ok(replace("/orchard:c/text", r#"{"orchard:text":"put"}"#))
        .ok(replace("/orchard:c/text", r#"{"orchard:text":"put"}"#))
        .ok(replace("/orchard:c/w=9", r#"{"orchard:w":["9"]}"#))
        .ok(replace(
            "/orchard:tree=oak",
            r#"{"orchard:tree":[{"name":"oak"}]}"#,
        ))
        .ok(replace("/orchard:c/p", r#"{"orchard:p":{"m":"x"}}"#))
        .fails(
            "data-missing",
            replace("/orchard:c/e=z,1/o", r#"{"orchard:o":"x"}"#),
        )
        .fails(
            "operation-failed",
            replace("/orchard:c/weight", r#"{"orchard:weight":9}"#),
        )
        .fails(
            "invalid-value",
            replace("/orchard:c/text", r#"{"orchard:text":"UP"}"#),
        )
        .fails(
            "invalid-value",
            replace("/orchard:c/weight", r#"{"orchard:weight":"heavy"}"#),
        )
        .fails(
            "data-missing",
            replace("/orchard:c/ref", r#"{"orchard:ref":"77"}"#),
        )
        .ok(read("/"))
        .ok(replace("/orchard:c", r#"{"orchard:c":{"text":"all"}}"#))
        .ok(read("/"))
}

fn merges() -> Case {
    Case::new("merge into a resource")
        .ok(merge(
            "/orchard:c/e=a,1",
            r#"{"orchard:e":[{"k":"a","l":1,"o":"m"}]}"#,
        ))
        .ok(merge(
            "/orchard:c",
            r#"{"orchard:c":{"text":"m","u":[{"k":"1","v":"x"}]}}"#,
        ))
        .ok(merge("/orchard:c/text", r#"{"orchard:text":"leaf"}"#))
        .ok(merge(
            "/orchard:tree=oak",
            r#"{"orchard:tree":[{"name":"oak","age":301}]}"#,
        ))
        .fails(
            "data-missing",
            merge(
                "/orchard:tree=ash",
                r#"{"orchard:tree":[{"name":"ash","age":1}]}"#,
            ),
        )
        .fails(
            "data-missing",
            merge(
                "/orchard:c/e=z,1",
                r#"{"orchard:e":[{"k":"z","l":1,"o":"m"}]}"#,
            ),
        )
        .fails(
            "invalid-value",
            merge("/orchard:c", r#"{"orchard:c":{"weight":0}}"#),
        )
        .fails(
            "operation-failed",
            merge("/orchard:c", r#"{"orchard:c":{"weight":9}}"#),
        )
        .ok(Request::from(merge("/orchard:c", r#"{"orchard:c":{"text":"by"}}"#)).by("maria", "why"))
        .ok(read("/"))
}

fn in_xml() -> Case {
    let body = xml("<text xmlns=\"urn:espalier:test:orchard\">x</text>");
    Case::new("resources in XML")
        .ok(Operation::Replace {
            datastore: "running",
            target: "/orchard:c/text",
            body,
            placement: None,
        })
        .ok(Operation::Create {
            datastore: "running",
            parent: "/orchard:c",
            body: xml("<e xmlns=\"urn:espalier:test:orchard\"><k>x</k><l>1</l></e>"),
            placement: None,
        })
        .ok(Operation::Merge {
            datastore: "running",
            target: "/orchard:c",
            body: xml("<c xmlns=\"urn:espalier:test:orchard\"><weight>6</weight></c>"),
        })
        .fails(
            "invalid-value",
            Operation::Replace {
                datastore: "running",
                target: "/orchard:c/weight",
                body: xml("<weight xmlns=\"urn:espalier:test:orchard\">0</weight>"),
                placement: None,
            },
        )
        .ok(read("/orchard:c"))
}

fn in_a_candidate() -> Case {
    Case::new("resources of a candidate")
        .ok(Operation::Replace {
            datastore: "candidate",
            target: "/orchard:c/text",
            body: json(r#"{"orchard:text":"candidate"}"#),
            placement: None,
        })
        .ok(Operation::Create {
            datastore: "candidate",
            parent: "/",
            body: json(r#"{"orchard:tree":[{"name":"ash"}]}"#),
            placement: None,
        })
        .ok(Operation::Delete {
            datastore: "candidate",
            target: "/orchard:c/e=a,1",
        })
        .fails(
            "data-missing",
            Operation::Delete {
                datastore: "candidate",
                target: "/orchard:c/e=a,1",
            },
        )
        // A candidate is validated at its commit.
        .ok(Operation::Merge {
            datastore: "candidate",
            target: "/orchard:c",
            body: json(r#"{"orchard:c":{"weight":9}}"#),
        })
        .ok(read("/"))
        .ok(read_in("candidate", "/"))
}

fn positions() -> Case {
    let entry = r#"{"orchard:u":[{"k":"n"}]}"#;
    Case::new("insert and point")
        .ok(create_at("/orchard:c", entry, at("first")))
        .ok(delete("/orchard:c/u=n"))
        .ok(create_at("/orchard:c", entry, at("last")))
        .ok(delete("/orchard:c/u=n"))
        .ok(create_at(
            "/orchard:c",
            entry,
            by("before", "/orchard:c/u=2"),
        ))
        .ok(delete("/orchard:c/u=n"))
        .ok(create_at(
            "/orchard:c",
            entry,
            by("after", "/orchard:c/u=2"),
        ))
        .ok(read("/orchard:c/u"))
        .ok(create_at(
            "/orchard:c",
            r#"{"orchard:w":["n"]}"#,
            by("before", "/orchard:c/w=1"),
        ))
        .ok(create_at(
            "/orchard:c",
            r#"{"orchard:w":["m"]}"#,
            by("after", "/orchard:c/w=3"),
        ))
        .ok(replace_at(
            "/orchard:c/u=3",
            r#"{"orchard:u":[{"k":"3","v":"moved"}]}"#,
            at("first"),
        ))
        .ok(replace_at(
            "/orchard:c/u=1",
            r#"{"orchard:u":[{"k":"1"}]}"#,
            by("after", "/orchard:c/u=n"),
        ))
        .ok(replace_at(
            "/orchard:c/w=2",
            r#"{"orchard:w":["2"]}"#,
            at("last"),
        ))
        .ok(replace_at(
            "/orchard:c/u=x%27%22%5D",
            r#"{"orchard:u":[{"k":"x'\"]"}]}"#,
            at("first"),
        ))
        .ok(create_at(
            "/orchard:c",
            r#"{"orchard:u":[{"k":"y"}]}"#,
            by("after", "/orchard:c/u=x%27%22%5D"),
        ))
        .ok(read("/orchard:c"))
}

fn wrong_positions() -> Case {
    let entry = r#"{"orchard:u":[{"k":"n"}]}"#;
    Case::new("wrong insert and point")
        .fails(
            "bad-attribute",
            create_at("/orchard:c", entry, by("before", "/orchard:c/u=9")),
        )
        .fails(
            "bad-attribute",
            create_at(
                "/orchard:c",
                r#"{"orchard:w":["n"]}"#,
                by("after", "/orchard:c/w=9"),
            ),
        )
        .fails(
            "invalid-value",
            create_at("/orchard:c", entry, at("before")),
        )
        .fails(
            "invalid-value",
            create_at("/orchard:c", entry, at("middle")),
        )
        .fails(
            "invalid-value",
            create_at("/orchard:c", entry, by("first", "/orchard:c/u=1")),
        )
        .fails(
            "invalid-value",
            create_at("/orchard:c", entry, by("before", "/orchard:c/w=1")),
        )
        .fails(
            "invalid-value",
            create_at(
                "/orchard:c",
                r#"{"orchard:e":[{"k":"n","l":1}]}"#,
                at("first"),
            ),
        )
        .fails(
            "invalid-value",
            replace_at("/orchard:c/text", r#"{"orchard:text":"x"}"#, at("first")),
        )
        .fails(
            "unknown-element",
            create_at("/orchard:c", entry, by("before", "/orchard:c/absent=1")),
        )
        .ok(read("/orchard:c"))
}
