//! The operations.

use espalier_protocols::netconf::BASE_NAMESPACE;

use crate::support::Fixture;

const GET: &str = "<get-config><source><running/></source></get-config>";

fn edit(target: &str, content: &str) -> String {
    format!("<edit-config><target><{target}/></target><config>{content}</config></edit-config>")
}

#[test]
fn data_is_written_and_read() {
    let fixture = Fixture::new();
    let mut client = fixture.session();
    let content = "<c xmlns=\"urn:m\"><title>x &lt; y</title><e><k>a</k><v>7</v></e></c>";
    client.ok(&edit("running", content));
    assert_eq!(client.data(GET), content);
    let state = client.data("<get/>");
    assert!(state.contains("<title>x &lt; y</title>"), "{state}");
    assert!(state.contains("<netconf-state "), "{state}");
    client.ok(&edit("running", "<c xmlns=\"urn:m\" xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\"><e nc:operation=\"delete\"><k>a</k></e></c>"));
    assert_eq!(
        client.data(GET),
        "<c xmlns=\"urn:m\"><title>x &lt; y</title></c>"
    );
}

/// Constraints of a candidate are validated at the commit.
#[test]
fn a_candidate_may_be_invalid_until_it_is_committed() {
    let fixture = Fixture::new();
    let mut client = fixture.session();
    client.ok(&edit(
        "candidate",
        "<c xmlns=\"urn:m\"><title>forbidden</title></c>",
    ));
    assert_eq!(client.error("<commit/>"), "operation-failed");
    assert_eq!(
        client.error("<validate><source><candidate/></source></validate>"),
        "operation-failed"
    );
    client.ok(&edit(
        "candidate",
        "<c xmlns=\"urn:m\"><title>allowed</title></c>",
    ));
    client.ok("<validate><source><candidate/></source></validate>");
    client.ok("<commit/>");
    assert!(client.data(GET).contains("allowed"));
    client.ok(&edit(
        "candidate",
        "<c xmlns=\"urn:m\"><title>other</title></c>",
    ));
    client.ok("<discard-changes/>");
    client.ok("<commit/>");
    assert!(client.data(GET).contains("allowed"));
}

/// §5 rows 16, 26, 34
#[test]
fn wrong_requests_have_errors_and_the_session_goes_on() {
    let fixture = Fixture::new();
    let mut client = fixture.session();
    for (operation, tag) in [
        ("<get-config/>", "missing-element"),
        ("<get-config><source/></get-config>", "missing-element"),
        (
            "<get-config><source><running/><startup/></source></get-config>",
            "bad-element",
        ),
        (
            "<get-config><source><other/></source></get-config>",
            "invalid-value",
        ),
        ("<get-config><other/></get-config>", "unknown-element"),
        ("<no-such/>", "unknown-element"),
        ("<x xmlns='urn:none'/>", "operation-not-supported"),
        ("<ping xmlns='urn:m'/>", "operation-not-supported"),
        ("<ping xmlns='urn:m'><x/></ping>", "unknown-element"),
        (
            "<kill-session><session-id>999</session-id></kill-session>",
            "invalid-value",
        ),
        (
            "<unlock><target><running/></target></unlock>",
            "operation-failed",
        ),
        (
            "<copy-config><target><running/></target><source><running/></source></copy-config>",
            "invalid-value",
        ),
        (
            "<delete-config><target><running/></target></delete-config>",
            "invalid-value",
        ),
        ("<cancel-commit/>", "operation-failed"),
        (&edit("startup", ""), "invalid-value"),
        (
            &edit("running", "<c xmlns='urn:m'><e><k>a</k><v>300</v></e></c>"),
            "invalid-value",
        ),
        (
            &edit("running", "<c xmlns='urn:m'><e><v>3</v></e></c>"),
            "missing-element",
        ),
        (
            &edit("running", "<c xmlns='urn:m'><none/></c>"),
            "unknown-element",
        ),
        (
            &edit("running", "<none xmlns='urn:none'/>"),
            "unknown-namespace",
        ),
        (
            &edit("running", "<c xmlns='urn:m' operation='delete'/>"),
            "unknown-attribute",
        ),
        (
            &edit("running", "<c xmlns='urn:m'><title>forbidden</title></c>"),
            "operation-failed",
        ),
    ] {
        assert_eq!(client.error(operation), tag, "{operation}");
    }
    assert_eq!(client.data(GET), "");
}

#[test]
fn errors_have_paths_with_prefixes_that_are_declared_on_them() {
    let fixture = Fixture::new();
    let mut client = fixture.session();
    let reply = client.rpc(&edit(
        "running",
        "<c xmlns='urn:m'><e><k>a</k><v>300</v></e></c>",
    ));
    assert!(
        reply.contains("<error-path xmlns:m=\"urn:m\">/m:c/m:e[m:k='a']/m:v</error-path>"),
        "{reply}"
    );
    assert!(
        reply.contains("<error-severity>error</error-severity>"),
        "{reply}"
    );
}

/// Requests with prefixes, without a namespace for parameters, and with parameters in another order.
///
/// §5 row 14
#[test]
fn unusual_requests_are_accepted() {
    let fixture = Fixture::new();
    let mut client = fixture.session();
    client.send(&format!(
        "<nc:rpc xmlns:nc=\"{BASE_NAMESPACE}\" message-id=\"a&amp;b\" x:y=\"z\" xmlns:x=\"urn:x\"><nc:edit-config><config>\
         <c xmlns=\"urn:m\"><title>t</title></c></config><target><running/></target></nc:edit-config></nc:rpc>"
    ));
    let reply = client.receive().expect("a reply");
    assert!(
        reply.contains("<ok") && reply.contains("a&amp;b") && reply.contains("x:y=\"z\""),
        "{reply}"
    );
    client.send(&format!(
        "<nc:rpc xmlns:nc=\"{BASE_NAMESPACE}\" message-id=\"2\"><nc:lock><target><running/></target></nc:lock></nc:rpc>"
    ));
    assert!(client.receive().expect("a reply").contains("<ok"));
}

#[test]
fn schemas_are_returned_in_full() {
    let fixture = Fixture::new();
    let mut client = fixture.session();
    let namespace = "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring";
    let reply = client.rpc(&format!(
        "<get-schema xmlns=\"{namespace}\"><identifier>m</identifier></get-schema>"
    ));
    assert!(
        reply.contains(&format!("<data xmlns=\"{namespace}\">module m {{")),
        "{reply}"
    );
    let missing =
        format!("<get-schema xmlns=\"{namespace}\"><identifier>n</identifier></get-schema>");
    assert_eq!(client.error(&missing), "invalid-value");
}

#[test]
fn actions_are_found_by_their_entries() {
    let fixture = Fixture::new();
    let mut client = fixture.session();
    client.ok(&edit("running", "<c xmlns='urn:m'><e><k>a</k></e></c>"));
    let action =
        |content: &str| format!("<action xmlns='urn:ietf:params:xml:ns:yang:1'>{content}</action>");
    for (content, tag) in [
        (
            "<c xmlns='urn:m'><e><k>a</k><reset/></e></c>",
            "operation-not-supported",
        ),
        (
            "<c xmlns='urn:m'><e><k>a</k><reset><other/></reset></e></c>",
            "unknown-element",
        ),
        ("<c xmlns='urn:m'><e><reset/></e></c>", "missing-element"),
        ("<c xmlns='urn:m'><e><k>a</k></e></c>", "missing-element"),
        ("<c xmlns='urn:m'><title/></c>", "bad-element"),
        ("<c xmlns='urn:m'><none/></c>", "unknown-element"),
        ("", "missing-element"),
    ] {
        assert_eq!(client.error(&action(content)), tag, "{content}");
    }
}

/// §5 row 42
#[test]
fn a_confirmed_commit_is_rolled_back_with_its_session() {
    let fixture = Fixture::new();
    let mut client = fixture.session();
    client.ok(&edit(
        "candidate",
        "<c xmlns='urn:m'><title>new</title></c>",
    ));
    client.ok("<commit><confirmed/><confirm-timeout>100</confirm-timeout></commit>");
    let mut other = fixture.session();
    assert!(other.data(GET).contains("new"));
    assert_eq!(other.error("<commit/>"), "in-use");
    client.drop_connection();
    assert_eq!(other.data(GET), "");
}

#[test]
fn data_of_nmda_is_read_and_written() {
    let fixture = Fixture::new();
    let mut client = fixture.session();
    let nmda = "urn:ietf:params:xml:ns:yang:ietf-netconf-nmda";
    let datastores = "xmlns:ds=\"urn:ietf:params:xml:ns:yang:ietf-datastores\"";
    let edit = |datastore: &str, content: &str| {
        format!(
            "<edit-data xmlns=\"{nmda}\"><datastore {datastores}>ds:{datastore}</datastore><config>{content}</config></edit-data>"
        )
    };
    client.ok(&edit("startup", "<c xmlns='urn:m'><title>s</title></c>"));
    let get = |datastore: &str, more: &str| {
        format!(
            "<get-data xmlns=\"{nmda}\"><datastore {datastores}>ds:{datastore}</datastore>{more}</get-data>"
        )
    };
    assert_eq!(
        client.data(&get("startup", "")),
        "<c xmlns=\"urn:m\"><title>s</title></c>"
    );
    assert_eq!(
        client.data(&get("startup", "<max-depth>1</max-depth>")),
        "<c xmlns=\"urn:m\"/>"
    );
    assert_eq!(
        client.error(&get("startup", "<with-origin/>")),
        "invalid-value"
    );
    let lock = |name: &str, datastore: &str| {
        format!(
            "<{name}><target><datastore xmlns=\"{nmda}\" {datastores}>ds:{datastore}</datastore></target></{name}>"
        )
    };
    client.ok(&lock("lock", "startup"));
    client.ok(&lock("unlock", "startup"));
    assert_eq!(
        client.error(&lock("lock", "operational")),
        "operation-not-supported"
    );
    assert_eq!(client.error(&get("none", "")), "invalid-value");
    assert_eq!(client.error(&edit("operational", "")), "invalid-value");
}

#[test]
fn parts_of_running_are_locked() {
    let fixture = Fixture::new();
    let mut client = fixture.session();
    client.ok(&edit(
        "running",
        "<c xmlns='urn:m'><e><k>a</k></e><e><k>b</k></e></c>",
    ));
    let namespace = "urn:ietf:params:xml:ns:netconf:partial-lock:1.0";
    let lock = |select: &str| {
        format!("<partial-lock xmlns=\"{namespace}\" xmlns:x=\"urn:m\">{select}</partial-lock>")
    };
    let reply = client.rpc(&lock("<select>/x:c/x:e[x:k='a']</select>"));
    assert!(
        reply.contains(&format!("<lock-id xmlns=\"{namespace}\">1</lock-id>")),
        "{reply}"
    );
    assert!(
        reply.contains("xmlns:m=\"urn:m\">/m:c/m:e[m:k='a']</locked-node>"),
        "{reply}"
    );
    let mut other = fixture.session();
    let change = |key: &str| {
        edit(
            "running",
            &format!("<c xmlns='urn:m'><e><k>{key}</k><v>1</v></e></c>"),
        )
    };
    assert_eq!(other.error(&change("a")), "in-use");
    other.ok(&change("b"));
    assert_eq!(other.error(&lock("<select>/x:c</select>")), "lock-denied");
    for (select, tag) in [
        ("", "missing-element"),
        ("<select>/x:c/x:none</select>", "operation-failed"),
        ("<select>1 + 1</select>", "invalid-value"),
        ("<select>/[</select>", "invalid-value"),
    ] {
        assert_eq!(other.error(&lock(select)), tag, "{select}");
    }
    let unlock =
        format!("<partial-unlock xmlns=\"{namespace}\"><lock-id>1</lock-id></partial-unlock>");
    assert_eq!(other.error(&unlock), "invalid-value");
    client.ok(&unlock);
    other.ok(&change("a"));
}

/// The counters of RFC 6022 §2.1.4, §2.1.5.
#[test]
fn sessions_and_their_messages_are_counted() {
    let fixture = Fixture::new();
    let mut bad = fixture.connect();
    bad.receive().expect("a hello");
    bad.send("<hello/>");
    assert!(bad.receive().is_none());
    bad.end();
    let mut client = fixture.session();
    client.send(&format!("<rpc xmlns=\"{BASE_NAMESPACE}\"><get/></rpc>"));
    assert!(
        client
            .receive()
            .expect("a reply")
            .contains("missing-attribute")
    );
    client.ok("<create-subscription xmlns=\"urn:ietf:params:xml:ns:netconf:notification:1.0\"/>");
    let mut other = fixture.session();
    let notification = client.receive().expect("a notification");
    assert!(
        notification.contains("netconf-session-start"),
        "{notification}"
    );
    let state = other.data("<get/>");
    for part in [
        "<in-bad-hellos>1</in-bad-hellos>",
        "<in-bad-rpcs>1</in-bad-rpcs>",
        "<out-notifications>1</out-notifications>",
    ] {
        assert!(state.contains(part), "{part}: {state}");
    }
}
