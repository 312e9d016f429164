//! Candidates, confirmed commits, copies, and large data.

use std::fmt::Write as _;

use super::fixture::{CANDIDATE, RUNNING, edit, fixture, top};

const LOCK: &str = "<lock><target><candidate/></target></lock>";
const UNLOCK: &str = "<unlock><target><candidate/></target></unlock>";
const CONFIRMED: &str = "<commit><confirmed/><confirm-timeout>600</confirm-timeout></commit>";

fn note(target: &str, text: &str) -> String {
    edit(target, &format!("<note>{text}</note>"))
}

fn with_note(text: &str) -> String {
    top(&format!("<note>{text}</note>"))
}

/// §5 row 40
#[test]
fn the_end_of_a_session_discards_the_candidate_that_it_locked() {
    let fixture = fixture();
    let mut other = fixture.session();
    for end in ["<close-session/>", ""] {
        let mut client = fixture.session();
        client.ok(LOCK);
        client.ok(&note("candidate", "left"));
        assert_eq!(other.error(LOCK), "lock-denied");
        match end {
            "" => drop(client.drop_connection()),
            _ => client.ok(end),
        }
        assert_eq!(other.data(CANDIDATE), "", "{end}");
        other.ok(LOCK);
        other.ok(UNLOCK);
    }
}

/// §5 row 40
#[test]
fn unlock_discards_the_candidate() {
    let fixture = fixture();
    let mut client = fixture.session();
    let mut other = fixture.session();
    client.ok(LOCK);
    client.ok(&note("candidate", "left"));
    assert_eq!(other.error(UNLOCK), "operation-failed");
    assert_ne!(other.data(CANDIDATE), "");
    client.ok(UNLOCK);
    assert_eq!(other.data(CANDIDATE), "");
    other.ok(LOCK);
    // What was committed stays.
    other.ok(&note("candidate", "kept"));
    other.ok("<commit/>");
    other.ok(UNLOCK);
    assert_eq!(client.data(RUNNING), with_note("kept"));
}

/// §5 row 41
#[test]
fn a_locked_candidate_is_not_discarded_by_others_and_a_failed_commit_blocks_nobody() {
    let fixture = fixture();
    let mut client = fixture.session();
    let mut other = fixture.session();
    client.ok(LOCK);
    client.ok(&edit("candidate", "<odd>2</odd>"));
    assert_eq!(other.error("<discard-changes/>"), "in-use");
    assert_eq!(other.error(&note("candidate", "x")), "in-use");
    assert_eq!(client.error("<commit/>"), "operation-failed");
    client.ok(UNLOCK);
    client.ok(&edit("candidate", "<odd>2</odd>"));
    assert_eq!(client.error("<commit/>"), "operation-failed");
    other.ok("<discard-changes/>");
    other.ok(&note("candidate", "x"));
    other.ok("<commit/>");
    assert_eq!(client.data(RUNNING), with_note("x"));
}

/// §5 row 42
#[test]
fn a_further_confirmed_commit_keeps_the_first_state_for_the_rollback() {
    let fixture = fixture();
    let mut client = fixture.session();
    client.ok(&note("running", "first"));
    for text in ["second", "third"] {
        client.ok(&note("candidate", text));
        client.ok(CONFIRMED);
        assert_eq!(client.data(RUNNING), with_note(text));
    }
    // Whatever the session did last.
    client.data("<get/>");
    client.ok(&note("candidate", "fourth"));
    client.ok("<cancel-commit/>");
    assert_eq!(client.data(RUNNING), with_note("first"));
}

/// §5 row 42
#[test]
fn a_confirmed_commit_that_fails_is_not_pending() {
    let fixture = fixture();
    let mut client = fixture.session();
    let mut other = fixture.session();
    client.ok(&edit("candidate", "<odd>2</odd>"));
    assert_eq!(client.error(CONFIRMED), "operation-failed");
    assert_eq!(client.error("<cancel-commit/>"), "operation-failed");
    client.ok("<discard-changes/>");
    other.ok(&note("running", "x"));
    client.drop_connection();
    assert_eq!(other.data(RUNNING), with_note("x"));
}

/// §5 row 42
#[test]
fn a_persistent_confirmed_commit_is_confirmed_or_cancelled_by_any_session_with_its_name() {
    let fixture = fixture();
    let mut other = fixture.session();
    for (operation, expected) in [
        (
            "<commit><persist-id>p</persist-id></commit>",
            with_note("x"),
        ),
        (
            "<cancel-commit><persist-id>p</persist-id></cancel-commit>",
            String::new(),
        ),
    ] {
        other.ok(&edit("running", "<note nc:operation=\"remove\"/>"));
        let mut client = fixture.session();
        client.ok(&note("candidate", "x"));
        client.ok("<commit><confirmed/><persist>p</persist></commit>");
        client.drop_connection();
        assert_eq!(other.data(RUNNING), with_note("x"));
        assert_eq!(
            other.error("<commit><persist-id>q</persist-id></commit>"),
            "invalid-value"
        );
        other.ok(operation);
        assert_eq!(other.data(RUNNING), expected);
    }
}

/// §5 row 44
#[test]
fn copies_are_complete_in_every_direction() {
    let fixture = fixture();
    let mut client = fixture.session();
    client.ok(&edit(
        "running",
        "<note>n</note><entry><name>a</name><value>1</value></entry><word>x</word><word>y</word>",
    ));
    let whole = client.data(RUNNING);
    for (source, target) in [
        ("running", "startup"),
        ("startup", "candidate"),
        ("candidate", "startup"),
    ] {
        client.ok(&format!(
            "<copy-config><target><{target}/></target><source><{source}/></source></copy-config>"
        ));
        let read = format!("<get-config><source><{target}/></source></get-config>");
        assert_eq!(client.data(&read), whole, "{source} to {target}");
    }
    client.ok(&edit("running", "<note nc:operation=\"delete\"/>"));
    client.ok("<copy-config><target><running/></target><source><startup/></source></copy-config>");
    assert_eq!(client.data(RUNNING), whole);
}

/// §5 row 45
#[test]
fn large_edits_and_reads_succeed_and_the_server_is_whole_after_a_client_gave_up() {
    let fixture = fixture();
    let mut client = fixture.session();
    let mut entries = String::new();
    for number in 0..20_000 {
        let _ = write!(
            entries,
            "<entry><name>{number}</name><value>{}</value></entry>",
            number % 256
        );
    }
    client.ok(&edit("candidate", &entries));
    client.ok("<commit/>");
    // The first client ends in the middle of its reply.
    let mut gone = fixture.session();
    gone.send_request(RUNNING);
    gone.receive_bytes(b"<entry>", 1);
    gone.drop_connection();
    let data = client.data(RUNNING);
    assert_eq!(data.matches("<entry>").count(), 20_000);
    assert!(data.ends_with("</entry></top>"));
    let deleted = entries.replace("<entry>", "<entry nc:operation=\"delete\">");
    client.ok(&edit("running", &deleted));
    assert_eq!(client.data(RUNNING), "");
}
