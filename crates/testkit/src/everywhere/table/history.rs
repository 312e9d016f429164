//! Earlier versions: history, differences, reads and rollback.

use super::requests::{delete, edit, read, set};
use crate::everywhere::{Case, ContentChoice, DefaultsMode, Operation, Read, Request};

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![lists(), differences(), reads(), rollbacks()]
}

/// Three versions after that of the fixture.
fn changed(name: &'static str) -> Case {
    Case::new(name)
        .ok(Request::from(set("/orchard:c/text", "one")).by("maria", "first"))
        .ok(Request::from(edit(
            r#"{"orchard:c":{"e":[{"@":{"ietf-netconf:operation":"delete"},"k":"a","l":1}],"u":[{"@":{"yang:insert":"first"},"k":"3"}]}}"#,
        ))
        .by("jan", "second"))
        .ok(Request::from(delete("/orchard:tree=oak")).by("maria", "third"))
}

fn lists() -> Case {
    let history = |from, limit| Operation::History { from, limit };
    changed("history")
        .ok(history(None, 3))
        .ok(history(None, 1))
        .ok(history(Some(2), 2))
        .ok(history(Some(1), 1))
        .ok(set("/orchard:c/text", "one"))
        .ok(history(None, 2))
}

fn differences() -> Case {
    let difference = |from, to, path| Operation::Difference { from, to, path };
    changed("differences")
        .ok(difference(0, 1, "/"))
        .ok(difference(1, 2, "/"))
        .ok(difference(2, 3, "/"))
        .ok(difference(0, 3, "/"))
        .ok(difference(3, 0, "/"))
        .ok(difference(2, 2, "/"))
        .ok(difference(0, 3, "/orchard:c/e"))
        .ok(difference(0, 3, "/orchard:tree=oak"))
        .fails("invalid-value", difference(0, 99, "/"))
        .fails("unknown-element", difference(0, 1, "/orchard:absent"))
}

fn reads() -> Case {
    let before = |version, path| Read {
        version: Some(version),
        ..read(path)
    };
    changed("reads of earlier versions")
        .ok(before(0, "/"))
        .ok(before(1, "/orchard:c"))
        .ok(before(3, "/orchard:c/text"))
        .ok(before(0, "/orchard:tree=oak"))
        .missing(before(3, "/orchard:tree=oak"))
        .ok(Read {
            depth: Some("1"),
            ..before(0, "/orchard:c")
        })
        .ok(Read {
            fields: Some("e(k;o);text"),
            ..before(0, "/orchard:c")
        })
        .ok(Read {
            content: ContentChoice::Config,
            ..before(0, "/orchard:c")
        })
        .ok(Read {
            with_defaults: DefaultsMode::ReportAll,
            ..before(0, "/orchard:c")
        })
        .ok(Read {
            with_defaults: DefaultsMode::Trim,
            ..before(0, "/orchard:c")
        })
        .fails(
            "invalid-value",
            Read {
                with_origin: true,
                ..before(0, "/orchard:c")
            },
        )
        .fails(
            "invalid-value",
            Read {
                content: ContentChoice::Wrong("state"),
                ..before(0, "/orchard:c")
            },
        )
        .fails(
            "invalid-value",
            Read {
                with_defaults: DefaultsMode::Wrong("all"),
                ..before(0, "/orchard:c")
            },
        )
        .fails(
            "invalid-value",
            Read {
                fields: Some("absent"),
                ..before(0, "/orchard:c")
            },
        )
        .fails("invalid-value", before(99, "/"))
        .fails("unknown-element", before(0, "/orchard:absent"))
}

fn rollbacks() -> Case {
    let rollback = |version| Operation::Rollback { version };
    changed("rollback")
        .ok(Request::from(rollback(1)).by("maria", "undone"))
        .ok(read("/"))
        .ok(rollback(1))
        .ok(Request::from(rollback(0)).by("maria", "all of it"))
        .ok(rollback(3))
        .ok(read("/"))
        .fails("invalid-value", rollback(99))
}
