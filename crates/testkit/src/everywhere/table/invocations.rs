//! RPCs and actions (RFC 7950 §7.14, §7.15).

use super::requests::{edit_in, invoke, json, read, set, set_in, xml};
use crate::everywhere::{Body, Case, Operation, Request};

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![
        unanswered(),
        inputs(),
        edits(),
        candidates(),
        locks(),
        datastores(),
    ]
}

fn running(operation: &'static str) -> Operation {
    invoke(
        operation,
        json(r#"{"ietf-netconf:input":{"target":{"running":[null]}}}"#),
    )
}

fn none() -> Body {
    Body::default()
}

fn unanswered() -> Case {
    Case::new("operations that nobody answers")
        .fails("operation-not-supported", invoke("/orchard:water", none()))
        .fails("operation-not-supported", invoke("/orchard:c/run", none()))
        .fails(
            "operation-not-supported",
            invoke("/orchard:water", json(r#"{"orchard:input":{"x":"1"}}"#)),
        )
}

fn inputs() -> Case {
    Case::new("inputs of operations")
        .fails("data-missing", invoke("/ietf-netconf:validate", none()))
        .fails("data-missing", invoke("/ietf-netconf:kill-session", none()))
        .fails(
            "invalid-value",
            invoke(
                "/ietf-netconf:kill-session",
                json(r#"{"ietf-netconf:input":{"session-id":0}}"#),
            ),
        )
        .fails(
            "invalid-value",
            invoke(
                "/ietf-netconf:kill-session",
                json(r#"{"ietf-netconf:input":{"session-id":4711}}"#),
            ),
        )
        .fails(
            "invalid-value",
            invoke(
                "/ietf-netconf-monitoring:get-schema",
                json(r#"{"ietf-netconf-monitoring:input":{"identifier":"none"}}"#),
            ),
        )
        .ok(invoke(
            "/ietf-netconf-monitoring:get-schema",
            json(r#"{"ietf-netconf-monitoring:input":{"identifier":"orchard"}}"#),
        ))
}

fn edits() -> Case {
    Case::new("edit-config as an operation")
        .ok(invoke(
            "/ietf-netconf:edit-config",
            json(
                r#"{"ietf-netconf:input":{"target":{"running":[null]},
                "config":{"orchard:tree":[{"name":"oak","age":301},{"name":"new"}]}}}"#,
            ),
        ))
        .ok(read("/orchard:tree"))
        .ok(invoke(
            "/ietf-netconf:edit-config",
            xml(
                r#"<input xmlns="urn:ietf:params:xml:ns:netconf:base:1.0"
                xmlns:nc="urn:ietf:params:xml:ns:netconf:base:1.0"><target><running/></target><config>
                <tree xmlns="urn:espalier:test:orchard" nc:operation="delete"><name>new</name></tree>
                </config></input>"#,
            ),
        ))
        .ok(read("/orchard:tree"))
        .fails(
            "data-missing",
            invoke(
                "/ietf-netconf:edit-config",
                json(
                    r#"{"ietf-netconf:input":{"target":{"running":[null]},"config":{"orchard:tree":[
                    {"@":{"ietf-netconf:operation":"delete"},"name":"nowhere"}]}}}"#,
                ),
            ),
        )
        .fails(
            "operation-failed",
            invoke(
                "/ietf-netconf:edit-config",
                json(
                    r#"{"ietf-netconf:input":{"target":{"running":[null]},"config":{"orchard:c":{"weight":9}}}}"#,
                ),
            ),
        )
        .ok(invoke(
            "/ietf-netconf:edit-config",
            json(
                r#"{"ietf-netconf:input":{"target":{"running":[null]},"test-option":"test-only",
                "config":{"orchard:c":{"weight":8}}}}"#,
            ),
        ))
        .ok(read("/orchard:c/weight"))
}

fn candidates() -> Case {
    Case::new("commit as an operation")
        .ok(set_in("candidate", "/orchard:tree=oak/age", "302"))
        .ok(invoke("/ietf-netconf:commit", none()))
        .ok(read("/orchard:tree=oak"))
        .ok(set_in("candidate", "/orchard:tree=oak/age", "303"))
        .ok(invoke("/ietf-netconf:discard-changes", none()))
        .ok(edit_in("candidate", json(r#"{"orchard:c":{"weight":9}}"#)))
        .fails(
            "operation-failed",
            invoke(
                "/ietf-netconf:validate",
                json(r#"{"ietf-netconf:input":{"source":{"candidate":[null]}}}"#),
            ),
        )
        .fails("operation-failed", invoke("/ietf-netconf:commit", none()))
        .ok(invoke("/ietf-netconf:discard-changes", none()))
        .fails(
            "operation-failed",
            invoke("/ietf-netconf:cancel-commit", none()),
        )
}

fn locks() -> Case {
    Case::new("lock as an operation")
        .ok(Request {
            session: "a",
            ..running("/ietf-netconf:lock").into()
        })
        .fails(
            "lock-denied",
            Request {
                session: "b",
                ..running("/ietf-netconf:lock").into()
            },
        )
        .fails("in-use", set("/orchard:c/text", "x"))
        .ok(Request {
            session: "a",
            ..running("/ietf-netconf:unlock").into()
        })
}

fn datastores() -> Case {
    Case::new("copy-config and factory-reset as operations")
        .ok(invoke(
            "/ietf-netconf:copy-config",
            json(
                r#"{"ietf-netconf:input":{"target":{"startup":[null]},"source":{"running":[null]}}}"#,
            ),
        ))
        .fails("unknown-element", running("/ietf-netconf:delete-config"))
        .ok(Operation::Copy {
            from: "running",
            to: "factory-default",
        })
        .ok(set("/orchard:tree=oak/age", "305"))
        .ok(invoke("/ietf-factory-default:factory-reset", none()))
        .ok(read("/orchard:tree=oak"))
}

/// What rules deny: see [`access_rules`](super::access_rules).
pub fn denied() -> Case {
    Case::new("denied operations")
        .fails(
            "access-denied",
            invoke("/ietf-factory-default:factory-reset", none()),
        )
        .fails(
            "access-denied",
            invoke(
                "/ietf-netconf:kill-session",
                json(r#"{"ietf-netconf:input":{"session-id":4711}}"#),
            ),
        )
        .fails("access-denied", invoke("/ietf-netconf:cancel-commit", none()))
        .fails(
            "access-denied",
            invoke(
                "/espalier-modules:change-modules",
                json(r#"{"espalier-modules:input":{"remove":["orchard"]}}"#),
            ),
        )
        .fails(
            "access-denied",
            invoke(
                "/ietf-netconf:edit-config",
                json(
                    r#"{"ietf-netconf:input":{"target":{"running":[null]},"config":{"orchard:c":{"weight":6}}}}"#,
                ),
            ),
        )
        .ok(invoke(
            "/ietf-netconf:edit-config",
            json(
                r#"{"ietf-netconf:input":{"target":{"running":[null]},
                "config":{"orchard:tree":[{"name":"oak","age":301}]}}}"#,
            ),
        ))
}
