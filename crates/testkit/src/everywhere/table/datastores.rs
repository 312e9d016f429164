//! Other datastores: copies, deletion, and those that cannot be written.

use super::requests::{copy, delete_in, edit_in, json, read, read_in, set, set_in};
use crate::everywhere::{Case, Operation, Request};

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![copies(), rejected_copies(), not_writable()]
}

fn copies() -> Case {
    Case::new("copy and delete")
        .ok(Request::from(copy("running", "startup")).by("maria", "kept"))
        .ok(copy("running", "startup"))
        .ok(set("/orchard:c/text", "later"))
        .ok(read_in("startup", "/orchard:c/text"))
        .ok(Request::from(copy("startup", "running")).by("maria", "back"))
        .ok(read("/orchard:c/text"))
        .ok(set_in("startup", "/orchard:c/text", "edited"))
        .ok(copy("startup", "candidate"))
        .ok(read_in("candidate", "/orchard:c/text"))
        .ok(Operation::DeleteDatastore {
            datastore: "startup",
        })
        .ok(Operation::DeleteDatastore {
            datastore: "startup",
        })
        .missing(read_in("startup", "/orchard:c"))
        .ok(copy("running", "factory-default"))
        .ok(read_in("factory-default", "/"))
}

fn rejected_copies() -> Case {
    Case::new("rejected copies")
        .ok(edit_in("startup", json(r#"{"orchard:c":{"weight":9}}"#)))
        .fails("operation-failed", copy("startup", "running"))
        .fails("operation-not-supported", copy("running", "intended"))
        .fails("invalid-value", copy("nowhere", "running"))
        .fails("invalid-value", copy("running", "nowhere"))
        .fails(
            "operation-not-supported",
            Operation::DeleteDatastore {
                datastore: "running",
            },
        )
        .fails(
            "operation-not-supported",
            Operation::DeleteDatastore {
                datastore: "candidate",
            },
        )
        .ok(read("/"))
}

fn not_writable() -> Case {
    ["intended", "factory-default"]
        .into_iter()
        .fold(
            Case::new("datastores that cannot be written"),
            |case, datastore| {
                case.fails(
                    "operation-not-supported",
                    set_in(datastore, "/orchard:c/text", "x"),
                )
                .fails(
                    "operation-not-supported",
                    edit_in(datastore, json(r#"{"orchard:c":{"text":"x"}}"#)),
                )
                .fails(
                    "operation-not-supported",
                    delete_in(datastore, "/orchard:c"),
                )
            },
        )
        .fails("invalid-value", edit_in("nowhere", json("{}")))
        .fails("invalid-value", read_in("nowhere", "/"))
}
