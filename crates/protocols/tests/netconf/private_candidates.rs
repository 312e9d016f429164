//! Private candidates (draft-ietf-netconf-privcand).

use espalier_protocols::netconf::{BASE_1_0, BASE_1_1};

use crate::support::{Client, Fixture};

const CAPABILITY: &str = "urn:ietf:params:netconf:capability:private-candidate:1.0";

fn session(fixture: &Fixture) -> Client<'_> {
    let mut client = fixture.connect();
    let hello = client.greet(&[BASE_1_0, BASE_1_1, CAPABILITY]);
    assert!(
        hello.contains("private-candidate:1.0?supported-resolution-modes="),
        "{hello}"
    );
    client
}

fn edit(target: &str, content: &str) -> String {
    format!(
        "<edit-config><target><{target}/></target><config><c xmlns=\"urn:m\">{content}</c></config></edit-config>"
    )
}

fn read(source: &str) -> String {
    format!("<get-config><source><{source}/></source></get-config>")
}

fn update(mode: &str) -> String {
    format!(
        "<update xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-private-candidate\">{mode}</update>"
    )
}

#[test]
fn each_session_has_a_candidate_of_its_own() {
    let fixture = Fixture::new();
    let (mut first, mut second, mut other) =
        (session(&fixture), session(&fixture), fixture.session());
    first.ok(&edit("candidate", "<title>first</title>"));
    second.ok(&edit("candidate", "<e><k>a</k></e>"));
    assert!(!second.data(&read("candidate")).contains("first"));
    assert_eq!(other.data(&read("candidate")), "");
    first.ok("<commit/>");
    let running = other.data(&read("running"));
    assert!(
        running.contains("first") && !running.contains("<k>a</k>"),
        "{running}"
    );
    // Without a conflict, the commit has the changes of running too.
    second.ok("<validate><source><candidate/></source></validate>");
    second.ok("<commit/>");
    let running = other.data(&read("running"));
    assert!(
        running.contains("first") && running.contains("<k>a</k>"),
        "{running}"
    );
    first.ok(&edit("candidate", "<title>again</title>"));
    first.ok("<discard-changes/>");
    assert!(!first.data(&read("candidate")).contains("again"));
}

#[test]
fn conflicts_are_resolved_by_update() {
    let fixture = Fixture::new();
    let (mut first, mut other) = (session(&fixture), fixture.session());
    let conflict = |first: &mut Client<'_>, other: &mut Client<'_>, name: &str| {
        first.ok(&edit("candidate", "<title>mine</title>"));
        other.ok(&edit("running", &format!("<title>{name}</title>")));
    };
    conflict(&mut first, &mut other, "a");
    assert_eq!(first.error("<commit/>"), "operation-failed");
    assert_eq!(first.error(&update("")), "operation-failed");
    let mode = |mode: &str| update(&format!("<resolution-mode>{mode}</resolution-mode>"));
    first.ok(&mode("prefer-candidate"));
    first.ok("<commit/>");
    assert!(other.data(&read("running")).contains("mine"));
    first.ok(&edit("candidate", "<title>yours</title>"));
    other.ok(&edit("running", "<title>b</title>"));
    first.ok(&mode("prefer-running"));
    first.ok("<commit/>");
    assert!(other.data(&read("running")).contains("<title>b</title>"));
    assert_eq!(first.error(&mode("by-chance")), "invalid-value");
    assert_eq!(other.error(&update("")), "operation-not-supported");
}

#[test]
fn a_private_candidate_ends_with_its_session() {
    let fixture = Fixture::new();
    let mut first = session(&fixture);
    first.ok(&edit("candidate", "<title>first</title>"));
    first.ok("<close-session/>");
    let mut next = session(&fixture);
    assert_eq!(next.data(&read("candidate")), "");
    next.ok("<lock><target><candidate/></target></lock>");
    let mut other = fixture.session();
    other.ok("<lock><target><candidate/></target></lock>");
}
