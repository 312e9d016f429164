//! What access rules deny to a user. See [`access_rules`](super::access_rules).

use super::requests::{
    break_lock, cancel, commit, confirmed_commit, create, delete, delete_in, discard, edit,
    edit_with, invoke, json, load, load_over, lock, merge, partial_lock, read, read_in, replace,
    set, set_in, unlock,
};
use super::{events, invocations};
use crate::everywhere::{Case, ContentChoice, Format, Operation, Read};

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![
        reads(),
        writes(),
        writes_of_hidden_nodes(),
        datastores(),
        candidates(),
        locks(),
        earlier_versions(),
        invocations::denied(),
        notifications(),
        events::denied_by_module(),
    ]
}

/// Hidden nodes are omitted, as if they did not exist.
fn reads() -> Case {
    Case::new("denied reads")
        .ok(read("/"))
        .ok(Read {
            format: Format::Xml,
            ..read("/")
        })
        .ok(read("/orchard:c"))
        .ok(read("/orchard:c/e=b,2"))
        .missing(read("/orchard:c/e=a,1"))
        .missing(read("/orchard:c/e=a,1/box/v"))
        .missing(read("/orchard:tag=x"))
        .missing(read("/orchard:c/q=1/a"))
        .ok(read("/orchard:c/q=1"))
        .ok(Read {
            fields: Some("e(k;box/v);q"),
            ..read("/orchard:c")
        })
        .ok(Read {
            depth: Some("2"),
            ..read("/orchard:c")
        })
        .ok(Read {
            content: ContentChoice::Config,
            ..read("/orchard:c")
        })
        .ok(read_in("operational", "/orchard:c/e=b,2"))
        .missing(read_in("operational", "/orchard:c/e=a,1"))
        .ok(read_in("intended", "/orchard:c"))
}

fn writes() -> Case {
    Case::new("denied writes")
        .ok(set("/orchard:tree=oak/age", "301"))
        .ok(delete("/orchard:tree=elm"))
        .ok(create("/", r#"{"orchard:tree":[{"name":"ash"}]}"#))
        .ok(set("/orchard:c/text", "on o"))
        .fails("access-denied", set("/orchard:c/weight", "6"))
        .fails("access-denied", delete("/orchard:c/text"))
        .fails("access-denied", delete("/orchard:c/weight"))
        .fails(
            "access-denied",
            create("/orchard:c", r#"{"orchard:few":[1]}"#),
        )
        .fails(
            "access-denied",
            merge("/orchard:c", r#"{"orchard:c":{"weight":6}}"#),
        )
        .fails(
            "access-denied",
            replace("/orchard:c/q=2", r#"{"orchard:q":[{"k":"2"}]}"#),
        )
        .fails(
            "access-denied",
            edit(r#"{"orchard:tree":[{"name":"fir"}],"orchard:c":{"size":"large"}}"#),
        )
        // What is there already is no change.
        .ok(edit(r#"{"orchard:c":{"weight":5,"size":"small"}}"#))
        .fails("data-missing", delete("/orchard:tree=yew"))
        .fails(
            "data-exists",
            create("/", r#"{"orchard:tree":[{"name":"oak"}]}"#),
        )
        .fails("invalid-value", set("/orchard:tree=oak/age", "-1"))
        .fails("unknown-element", set("/orchard:tree=oak/height", "1"))
}

/// An error does not show whether a hidden node exists.
fn writes_of_hidden_nodes() -> Case {
    Case::new("denied writes of hidden nodes")
        .fails("access-denied", delete("/orchard:c/e=a,1"))
        .fails("access-denied", delete("/orchard:c/e=a,9"))
        .fails("access-denied", set("/orchard:c/e=a,1/o", "x"))
        .fails(
            "access-denied",
            edit(r#"{"orchard:c":{"e":[{"k":"a","l":7}]}}"#),
        )
        .fails(
            "access-denied",
            edit(
                r#"{"orchard:c":{"e":[{"@":{"ietf-netconf:operation":"create"},"k":"a","l":1}]}}"#,
            ),
        )
        .fails("access-denied", edit(r#"{"orchard:tag":["z"]}"#))
        .fails("access-denied", edit(r#"{"orchard:c":{"pc":{}}}"#))
        .fails(
            "access-denied",
            edit(r#"{"orchard:c":{"pc":{"@":{"ietf-netconf:operation":"remove"}}}}"#),
        )
        .fails(
            "access-denied",
            edit_with(
                "running",
                json(r#"{"orchard:c":{"size":"large"}}"#),
                "",
                "test-only",
            ),
        )
        .fails("access-denied", delete("/orchard:tag=y"))
        .missing(read("/orchard:tag=y"))
}

fn datastores() -> Case {
    Case::new("denied datastores")
        .ok(load(json(r#"{"orchard:tree":[{"name":"larch"}]}"#)))
        .fails(
            "access-denied",
            load(json(r#"{"orchard:c":{"size":"large"}}"#)),
        )
        .fails(
            "access-denied",
            load_over(json(r#"{"orchard:tree":[{"name":"larch"}]}"#)),
        )
        .ok(Operation::Copy {
            from: "running",
            to: "startup",
        })
        .fails(
            "access-denied",
            Operation::Copy {
                from: "factory-default",
                to: "running",
            },
        )
        .fails(
            "access-denied",
            Operation::DeleteDatastore {
                datastore: "startup",
            },
        )
        .ok(read_in("startup", "/orchard:c"))
        .fails("access-denied", set_in("startup", "/orchard:c/weight", "6"))
        .fails("access-denied", delete_in("startup", "/orchard:c/e=a,1"))
}

fn candidates() -> Case {
    Case::new("denied candidates")
        .ok(set_in("candidate", "/orchard:tree=oak/age", "302"))
        .fails(
            "access-denied",
            set_in("candidate", "/orchard:c/weight", "6"),
        )
        .fails(
            "access-denied",
            edit_with(
                "candidate",
                json(r#"{"orchard:c":{"weight":6}}"#),
                "",
                "test-only",
            ),
        )
        .ok(edit_with(
            "candidate",
            json(r#"{"orchard:tree":[{"name":"fir"}]}"#),
            "",
            "test-only",
        ))
        .ok(Operation::Validate {
            datastore: "candidate",
        })
        .ok(commit())
        .ok(set_in("candidate", "/orchard:tree=oak/age", "303"))
        .ok(discard())
        .ok(set_in("candidate", "/orchard:tree=oak/age", "304"))
        .ok(confirmed_commit(60, Some("p"), None))
        // The operation is denied by a rule.
        .fails("access-denied", cancel(Some("p")))
}

fn locks() -> Case {
    Case::new("denied locks")
        .ok(partial_lock("running", &["/orchard:tree=oak"], "a"))
        .fails(
            "access-denied",
            partial_lock("running", &["/orchard:c/e=a,1"], "a"),
        )
        .fails(
            "access-denied",
            partial_lock("running", &["/orchard:tag=x"], "a"),
        )
        .ok(unlock("running", Some(1), "a"))
        .ok(lock("candidate", "a"))
        .fails("lock-denied", lock("candidate", "b"))
        .fails("access-denied", break_lock("candidate", None))
        .ok(unlock("candidate", None, "a"))
}

fn earlier_versions() -> Case {
    let difference = |from, to, path| Operation::Difference { from, to, path };
    Case::new("denied versions")
        .ok(set("/orchard:tree=oak/age", "301"))
        .ok(set("/orchard:c/text", "on o"))
        .ok(Operation::History {
            from: None,
            limit: 2,
        })
        // The commit of the fixture has hidden nodes, too: its comment is left out.
        .ok(Operation::History {
            from: None,
            limit: 10,
        })
        .ok(difference(0, 2, "/"))
        .ok(Read {
            version: Some(0),
            ..read("/orchard:c")
        })
        .missing(Read {
            version: Some(0),
            ..read("/orchard:c/e=a,1")
        })
        .ok(Operation::Rollback { version: 1 })
        .ok(Operation::Rollback { version: 0 })
        .ok(read("/orchard:tree"))
}

fn notifications() -> Case {
    Case::new("denied notifications")
        .fails(
            "access-denied",
            invoke(
                "/espalier-notifications:send-notification",
                json(
                    r#"{"espalier-notifications:input":{"content":{"orchard:ripe":{"kind":"pear"}}}}"#,
                ),
            ),
        )
        .fails(
            "access-denied",
            invoke(
                "/ietf-subscribed-notifications:kill-subscription",
                json(r#"{"ietf-subscribed-notifications:input":{"id":7}}"#),
            ),
        )
}
