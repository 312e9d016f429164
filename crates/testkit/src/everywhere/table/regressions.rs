//! Each disagreement that was found, as a case with its name.

use super::requests::{
    at, by, copy, create_at, delete, delete_in, json, load, load_over, lock, read, read_in,
    replace_at, set, set_in,
};
use crate::everywhere::{Case, DefaultsMode, Operation, Read, Request};

/// The cases.
pub fn cases() -> Vec<Case> {
    [changes(), reads()].concat()
}

/// Of changes.
fn changes() -> Vec<Case> {
    vec![
        Case::new("a whole list is deleted through a server")
            .ok(delete("/orchard:c/u"))
            .fails("data-missing", delete("/orchard:c/u"))
            .ok(read("/orchard:c")),
        Case::new("a deletion of nothing has the path and the tag data-missing")
            .fails("data-missing", delete("/orchard:c/e=z,1/box/v")),
        Case::new("rollback on a server keeps the session")
            .ok(set("/orchard:c/text", "before"))
            .ok(lock("running", "a"))
            .fails("in-use", Operation::Rollback { version: 0 })
            .ok(Request::from(Operation::Rollback { version: 0 }).session("a")),
        Case::new("a change without an author has the same author everywhere")
            .ok(set("/orchard:c/text", "x"))
            .ok(Operation::History {
                from: None,
                limit: 1,
            }),
        Case::new("the whole datastore is read with a depth and with tagged defaults")
            .ok(Read {
                depth: Some("2"),
                ..read("/")
            })
            .ok(Read {
                with_defaults: DefaultsMode::ReportAllTagged,
                ..read("/")
            }),
    ]
}

/// Of reads and errors.
fn reads() -> Vec<Case> {
    vec![
        Case::new("an empty datastore is read")
            .ok(load_over(json("{}")))
            .ok(read("/"))
            .missing(read("/orchard:c")),
        Case::new("an empty container has no defaults below it").missing(Read {
            with_defaults: DefaultsMode::ReportAll,
            ..read("/orchard:c/e=b,2/box")
        }),
        Case::new("with-origin of another datastore prints nothing before its error")
            .fails(
                "invalid-value",
                Read {
                    with_origin: true,
                    ..read("/orchard:c")
                },
            )
            .fails(
                "invalid-value",
                Read {
                    with_origin: true,
                    version: Some(0),
                    ..read("/")
                },
            ),
        Case::new("a key with both kinds of quotes is a point")
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
            .ok(read("/orchard:c/u")),
        Case::new("an edit of a datastore that cannot be edited has the reason")
            .fails(
                "operation-not-supported",
                set_in("intended", "/orchard:c/text", "x"),
            )
            .fails(
                "operation-not-supported",
                delete_in("factory-default", "/orchard:c"),
            ),
        Case::new("a missing version is invalid-value")
            .fails("invalid-value", Operation::Rollback { version: 99 })
            .fails(
                "invalid-value",
                Read {
                    version: Some(99),
                    ..read("/")
                },
            ),
        Case::new("an unknown datastore is invalid-value")
            .fails("invalid-value", read_in("nowhere", "/"))
            .fails("invalid-value", copy("nowhere", "running")),
        Case::new("an empty load changes nothing").ok(load(json("{}"))),
    ]
}
