//! Changes of modules while they are served.

use super::requests::{edit, invoke, json, read};
use crate::everywhere::{Case, Operation};

const CHANGE: &str = "/espalier-modules:change-modules";

/// A change of modules.
fn change(input: &'static str) -> Operation {
    invoke(CHANGE, json(input))
}

/// Installs a hedge with a height.
fn plant() -> Operation {
    change(
        r#"{"espalier-modules:input":{"install":[{"text":"module hedge { yang-version 1.1; namespace urn:hedge; prefix h; feature thorns; container hedge { leaf height { type uint8; } leaf thorn { if-feature thorns; type string; } } }"}]}}"#,
    )
}

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![
        installed_and_removed(),
        features(),
        new_mandatory_leaves(),
        wrong_changes(),
        dry_runs(),
    ]
}

fn installed_and_removed() -> Case {
    Case::new("modules come and go")
        .fails("unknown-namespace", read("/hedge:hedge"))
        .ok(plant())
        .missing(read("/hedge:hedge"))
        .ok(edit(r#"{"hedge:hedge":{"height":3}}"#))
        .ok(read("/hedge:hedge"))
        .ok(read("/orchard:tree"))
        .fails(
            "unknown-element",
            change(r#"{"espalier-modules:input":{"remove":["hedge"]}}"#),
        )
        .ok(read("/hedge:hedge"))
        .ok(change(
            r#"{"espalier-modules:input":{"remove":["hedge"],"drop-unknown":true,"comment":"winter"}}"#,
        ))
        .fails("unknown-namespace", read("/hedge:hedge"))
        .ok(read("/orchard:c"))
}

fn features() -> Case {
    Case::new("features are switched")
        .ok(plant())
        .ok(edit(r#"{"hedge:hedge":{"thorn":"long"}}"#))
        .fails(
            "unknown-element",
            change(
                r#"{"espalier-modules:input":{"features":[{"module":"hedge","disable":["thorns"]}]}}"#,
            ),
        )
        .ok(change(
            r#"{"espalier-modules:input":{"features":[{"module":"hedge","disable":["thorns"]}],"drop-unknown":true}}"#,
        ))
        .fails(
            "unknown-element",
            edit(r#"{"hedge:hedge":{"thorn":"long"}}"#),
        )
        .ok(change(
            r#"{"espalier-modules:input":{"features":[{"module":"hedge","enable":["thorns"]}]}}"#,
        ))
        .ok(edit(r#"{"hedge:hedge":{"thorn":"short"}}"#))
}

fn new_mandatory_leaves() -> Case {
    Case::new("leaves that become mandatory are filled")
        .ok(plant())
        .ok(edit(r#"{"hedge:hedge":{"height":3}}"#))
        .fails(
            "data-missing",
            change(
                r#"{"espalier-modules:input":{"install":[{"text":"module hedge { yang-version 1.1; namespace urn:hedge; prefix h; revision 2026-01-01; container hedge { leaf height { type uint16; } leaf owner { type string; mandatory true; } } }"}]}}"#,
            ),
        )
        .ok(change(
            r#"{"espalier-modules:input":{"install":[{"text":"module hedge { yang-version 1.1; namespace urn:hedge; prefix h; revision 2026-01-01; container hedge { leaf height { type uint16; } leaf owner { type string; mandatory true; } } }"}],"fill":[{"path":"/hedge:hedge/owner","value":"me"}]}}"#,
        ))
        .ok(read("/hedge:hedge"))
}

fn wrong_changes() -> Case {
    Case::new("wrong changes of modules")
        .fails(
            "invalid-value",
            change(r#"{"espalier-modules:input":{"install":[{"text":"no module"}]}}"#),
        )
        .fails(
            "invalid-value",
            change(r#"{"espalier-modules:input":{"install":[{"built-in":"no-such-module"}]}}"#),
        )
        .fails(
            "data-missing",
            change(r#"{"espalier-modules:input":{"install":[{"import-only":[null]}]}}"#),
        )
        .fails(
            "data-missing",
            change(r#"{"espalier-modules:input":{"remove":["hedge"]}}"#),
        )
        .fails(
            "data-missing",
            change(
                r#"{"espalier-modules:input":{"features":[{"module":"orchard","enable":["thorns"]}]}}"#,
            ),
        )
        .fails(
            "invalid-value",
            change(r#"{"espalier-modules:input":{"remove":["orchard"]}}"#),
        )
        .fails(
            "unknown-element",
            change(
                r#"{"espalier-modules:input":{"install":[{"built-in":"ietf-yang-types"}],"fill":[{"path":"/orchard:c/none","value":"x"}]}}"#,
            ),
        )
        .fails(
            "invalid-value",
            change(
                r#"{"espalier-modules:input":{"install":[{"built-in":"ietf-yang-types"}],"fill":[{"path":"/orchard:c/weight","value":"x"}]}}"#,
            ),
        )
}

fn dry_runs() -> Case {
    Case::new("a change of modules is tried")
        .ok(change(
            r#"{"espalier-modules:input":{"install":[{"built-in":"ietf-interfaces"}],"dry-run":true}}"#,
        ))
        .fails("unknown-namespace", read("/ietf-interfaces:interfaces"))
        .ok(change(
            r#"{"espalier-modules:input":{"install":[{"built-in":"ietf-interfaces"}]}}"#,
        ))
        .missing(read("/ietf-interfaces:interfaces"))
}
