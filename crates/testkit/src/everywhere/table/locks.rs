//! Locks (RFC 6241 §7.5) and partial locks (RFC 5717).

use super::requests::{
    break_lock, commit, create, delete, edit, edit_in, json, load, lock, merge, partial_lock, read,
    replace, set, unlock,
};
use crate::everywhere::{Case, Operation, Request};

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![whole(), writes(), partial(), candidate(), sessions()]
}

fn locks(datastore: &'static str) -> Operation {
    Operation::Locks { datastore }
}

fn whole() -> Case {
    Case::new("lock and unlock")
        .ok(lock("running", "a"))
        .ok(locks("running"))
        .fails("lock-denied", lock("running", "b"))
        .fails("lock-denied", lock("running", "a"))
        .fails("operation-failed", unlock("running", None, "b"))
        .ok(unlock("running", None, "a"))
        .fails("operation-failed", unlock("running", None, "a"))
        .ok(locks("running"))
        .ok(lock("startup", "a"))
        .ok(break_lock("startup", None))
        .ok(locks("startup"))
        .fails("operation-not-supported", lock("intended", "a"))
}

fn writes() -> Case {
    Case::new("writes to a locked datastore")
        .ok(lock("running", "a"))
        .fails("in-use", set("/orchard:c/text", "x"))
        .fails("in-use", edit(r#"{"orchard:c":{"text":"x"}}"#))
        .fails("in-use", delete("/orchard:c/text"))
        .fails("in-use", create("/", r#"{"orchard:tree":[{"name":"n"}]}"#))
        .fails(
            "in-use",
            replace("/orchard:c/text", r#"{"orchard:text":"x"}"#),
        )
        .fails(
            "in-use",
            merge("/orchard:c", r#"{"orchard:c":{"text":"x"}}"#),
        )
        .fails("in-use", load(json(r#"{"orchard:c":{"text":"x"}}"#)))
        .fails(
            "in-use",
            Request::from(set("/orchard:c/text", "x")).session("b"),
        )
        .fails("in-use", Operation::Rollback { version: 0 })
        .ok(Request::from(set("/orchard:c/text", "mine")).session("a"))
        .ok(Request::from(create("/", r#"{"orchard:tree":[{"name":"n"}]}"#)).session("a"))
        .ok(Request::from(Operation::Rollback { version: 0 }).session("a"))
        .ok(edit_in("candidate", json(r#"{"orchard:c":{"text":"c"}}"#)))
        .fails("in-use", commit())
        .ok(read("/orchard:c/text"))
        .ok(break_lock("running", None))
        .ok(set("/orchard:c/text", "x"))
}

fn partial() -> Case {
    Case::new("partial locks")
        .ok(partial_lock("running", &["/orchard:c/e=a,1"], "a"))
        .ok(locks("running"))
        .fails("lock-denied", partial_lock("running", &["/orchard:c"], "b"))
        .fails("lock-denied", lock("running", "b"))
        .fails("in-use", set("/orchard:c/e=a,1/o", "y"))
        .fails("in-use", delete("/orchard:c/e=a,1"))
        .ok(set("/orchard:c/e=b,2/o", "x"))
        .ok(Request::from(set("/orchard:c/e=a,1/o", "x")).session("a"))
        .ok(partial_lock(
            "running",
            &["/orchard:tree=oak", "/orchard:c/u=1"],
            "b",
        ))
        .fails("invalid-value", unlock("running", Some(1), "b"))
        .ok(unlock("running", Some(1), "a"))
        .ok(break_lock("running", Some(2)))
        .fails("invalid-value", unlock("running", Some(1), "a"))
        .fails("invalid-value", break_lock("running", Some(2)))
        .fails(
            "operation-not-supported",
            partial_lock("running", &["/orchard:c/text"], "a"),
        )
        .fails(
            "unknown-element",
            partial_lock("running", &["/orchard:absent"], "a"),
        )
        .fails(
            "data-missing",
            partial_lock("running", &["/orchard:c/u=9"], "a"),
        )
        .ok(locks("running"))
}

fn candidate() -> Case {
    Case::new("locks of the candidate")
        .ok(Request::from(edit_in("candidate", json(r#"{"orchard:c":{"text":"x"}}"#))).session("a"))
        .fails("lock-denied", lock("candidate", "b"))
        .ok(lock("candidate", "a"))
        .ok(locks("candidate"))
        .fails(
            "in-use",
            Request::from(edit_in("candidate", json(r#"{"orchard:c":{"text":"y"}}"#))).session("b"),
        )
        .fails("in-use", Request::from(commit()).session("b"))
        .ok(Request::from(commit()).session("a"))
        .ok(read("/orchard:c/text"))
}

fn sessions() -> Case {
    Case::new("the end of a session")
        .ok(lock("running", "a"))
        .ok(lock("candidate", "a"))
        .ok(partial_lock("startup", &["/orchard:c"], "a"))
        .ok(Request::from(Operation::EndSession).session("a"))
        .ok(locks("running"))
        .ok(locks("candidate"))
        .ok(locks("startup"))
        .ok(Request::from(set("/orchard:c/text", "free")).session("b"))
}
