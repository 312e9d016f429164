//! Candidates: commit, validate, discard, update, confirmed commit (RFC 6241 §8.3, §8.4).

use super::requests::{
    cancel, commit, commit_of, confirm, confirmed_commit, delete_in, discard, edit_in, json, read,
    read_in, set, set_in, update, validate,
};
use crate::everywhere::{Case, Operation, Prefer, Request};

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![
        commits(),
        validates(),
        conflicts(),
        private(),
        confirmed(),
        persistent(),
        wrong(),
    ]
}

fn commits() -> Case {
    Case::new("commit and discard")
        .ok(set_in("candidate", "/orchard:c/text", "c"))
        .ok(delete_in("candidate", "/orchard:tree=oak"))
        .ok(read_in("candidate", "/"))
        .ok(Request::from(commit()).by("maria", "what was edited"))
        .ok(commit())
        .ok(read("/"))
        .ok(set_in("candidate", "/orchard:c/text", "d"))
        .ok(discard())
        .ok(discard())
        .ok(read_in("candidate", "/orchard:c/text"))
}

fn validates() -> Case {
    Case::new("validate")
        .ok(validate("running"))
        .ok(validate("candidate"))
        .ok(validate("startup"))
        .ok(set_in("candidate", "/orchard:c/weight", "9"))
        .ok(set_in("candidate", "/orchard:c/ref", "77"))
        .fails("data-missing", validate("candidate"))
        .fails("data-missing", commit())
        .ok(edit_in("candidate", json(r#"{"orchard:c":{"p":{}}}"#)))
        .fails("data-missing", commit())
        .ok(discard())
        .ok(validate("candidate"))
        .fails("invalid-value", validate("nowhere"))
}

fn conflicts() -> Case {
    Case::new("conflicts with running")
        .ok(set_in("candidate", "/orchard:c/text", "mine"))
        .ok(set("/orchard:c/text", "theirs"))
        .fails("operation-failed", validate("candidate"))
        .fails("operation-failed", commit())
        .fails("operation-failed", update(Prefer::Neither))
        .ok(update(Prefer::Candidate))
        .ok(commit())
        .ok(read("/orchard:c/text"))
        .ok(set_in("candidate", "/orchard:c/text", "again"))
        .ok(set("/orchard:c/text", "theirs"))
        .ok(update(Prefer::Running))
        .ok(read_in("candidate", "/orchard:c/text"))
        .ok(update(Prefer::Neither))
        .ok(set("/orchard:c/weight", "7"))
        .ok(read_in("candidate", "/orchard:c/weight"))
}

fn private() -> Case {
    let text = |session, value| {
        let set = set_in("private-candidate", "/orchard:c/text", value);
        Request::from(set).session(session)
    };
    let read_of =
        |session| Request::from(read_in("private-candidate", "/orchard:c/text")).session(session);
    Case::new("private candidates")
        .ok(text("a", "of a"))
        .ok(text("b", "of b"))
        .ok(read_of("a"))
        .ok(read_of("b"))
        .ok(Request::from(commit_of("private-candidate")).session("a"))
        .ok(read("/orchard:c/text"))
        .fails(
            "operation-failed",
            Request::from(commit_of("private-candidate")).session("b"),
        )
        .ok(Request::from(Operation::Discard {
            datastore: "private-candidate",
        })
        .session("b"))
        .ok(read_of("b"))
        .fails(
            "invalid-value",
            set_in("private-candidate", "/orchard:c/text", "of nobody"),
        )
        .fails(
            "invalid-value",
            read_in("private-candidate", "/orchard:c/text"),
        )
}

fn confirmed() -> Case {
    Case::new("confirmed commit")
        .ok(set_in("candidate", "/orchard:c/text", "c"))
        .ok(Request::from(confirmed_commit(600, None, None)).session("a"))
        .ok(read("/orchard:c/text"))
        .fails("in-use", Request::from(commit()).session("b"))
        .fails("in-use", Request::from(cancel(None)).session("b"))
        .ok(Request::from(commit()).session("a"))
        .ok(set_in("candidate", "/orchard:c/text", "d"))
        .ok(Request::from(confirmed_commit(600, None, None)).session("a"))
        .ok(Request::from(cancel(None)).session("a"))
        .ok(read("/orchard:c/text"))
        .fails("operation-failed", Request::from(cancel(None)).session("a"))
}

fn persistent() -> Case {
    Case::new("confirmed commit beyond its session")
        .ok(set_in("candidate", "/orchard:c/text", "c"))
        .ok(Request::from(confirmed_commit(600, Some("move"), None)).session("a"))
        .ok(Operation::Locks {
            datastore: "running",
        })
        .ok(Request::from(Operation::EndSession).session("a"))
        .ok(read("/orchard:c/text"))
        .fails("in-use", commit())
        .fails("invalid-value", confirm("other"))
        .fails("invalid-value", cancel(Some("other")))
        .ok(confirm("move"))
        .ok(set_in("candidate", "/orchard:c/text", "d"))
        .ok(confirmed_commit(600, Some("again"), None))
        .ok(cancel(Some("again")))
        .ok(read("/orchard:c/text"))
}

fn wrong() -> Case {
    Case::new("operations on the wrong datastore")
        .fails("operation-not-supported", commit_of("running"))
        .fails("operation-not-supported", commit_of("startup"))
        .fails(
            "operation-not-supported",
            Operation::Discard {
                datastore: "running",
            },
        )
        .fails("invalid-value", commit_of("nowhere"))
        .fails("invalid-value", confirm("none is pending"))
}
