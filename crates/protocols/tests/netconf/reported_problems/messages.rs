//! Frames, hello, the envelope of messages, and idle sessions.

use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use espalier_protocols::netconf::{
    BASE_1_0, BASE_1_1, BASE_NAMESPACE, Element, Framing, Hello, NetconfLimits, SessionEnd,
};
use espalier_service::operations::{OperationCall, OperationOptions};
use espalier_yang::data::DataTree;

use super::fixture::{RUNNING, edit, fixture, read, top};
use crate::notifications::create;
use crate::support::{Fixture, framed};

const END: &[u8] = b"]]>]]>";
const CHUNKS_END: &[u8] = b"\n##\n";

fn rpc(operation: &str) -> String {
    format!("<rpc message-id=\"1\" xmlns=\"{BASE_NAMESPACE}\">{operation}</rpc>")
}

/// §5 row 2
#[test]
fn chunks_are_used_exactly_if_both_announce_base_1_1() {
    let fixture = fixture();
    for (versions, framing) in [
        (&[BASE_1_0][..], Framing::EndOfMessage),
        (&[BASE_1_0, BASE_1_1], Framing::Chunked),
        (&[BASE_1_1], Framing::Chunked),
    ] {
        let mut client = fixture.connect();
        client.receive().expect("a hello");
        let versions: Vec<_> = versions.iter().map(|&one| one.to_owned()).collect();
        let hello = format!("{}]]>]]>", Hello::print(&versions, None));
        let request = framed(framing, &rpc(RUNNING));
        client
            .send_bytes(&[hello.as_bytes(), &request].concat())
            .expect("open");
        let end = match framing {
            Framing::EndOfMessage => END,
            Framing::Chunked => CHUNKS_END,
        };
        let reply = client.receive_bytes(end, 1);
        let is_chunked = reply.starts_with(b"\n#");
        assert_eq!(is_chunked, framing == Framing::Chunked, "{versions:?}");
    }
}

/// §5 row 4
#[test]
fn there_is_nothing_between_frames() {
    let fixture = fixture();
    let mut client = fixture.session();
    for _ in 0..3 {
        client.send_request(RUNNING);
    }
    let bytes = client.receive_bytes(CHUNKS_END, 3);
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        rest = rest.strip_prefix(b"\n#").expect("a chunk");
        if let Some(after) = rest.strip_prefix(b"#\n") {
            rest = after;
            continue;
        }
        let end = rest.iter().position(|&byte| byte == b'\n').expect("a size");
        let size = std::str::from_utf8(&rest[..end]).expect("digits");
        rest = &rest[end + 1 + size.parse::<usize>().expect("a size")..];
    }
    let mut client = fixture.connect();
    client.greet(&[BASE_1_0]);
    for _ in 0..2 {
        client.send_request(RUNNING);
    }
    let text = String::from_utf8(client.receive_bytes(END, 2)).expect("UTF-8");
    let parts: Vec<_> = text.split("]]>]]>").collect();
    assert!(
        parts[0].starts_with('<') && parts[1].starts_with('<'),
        "{text}"
    );
    assert_eq!(parts[2], "");
}

/// §5 row 5
#[test]
fn chunks_of_any_size_are_read_and_the_first_line_feed_may_be_missing() {
    let fixture = fixture();
    let request = rpc(&read("\n<filter>\n\n#5\n</filter>\n").replace("#5", "<!-- \n#5\n -->"));
    for size in 1..40 {
        let mut client = fixture.connect();
        client.receive().expect("a hello");
        let hello = format!("{}]]>]]>", Hello::print(&[BASE_1_1.to_owned()], None));
        let mut bytes = hello.into_bytes();
        for (place, chunk) in request.as_bytes().chunks(size).enumerate() {
            // Some clients send no line feed after the hello.
            let start = if place == 0 { "" } else { "\n" };
            bytes.extend_from_slice(format!("{start}#{}\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
        }
        bytes.extend_from_slice(CHUNKS_END);
        client.send_bytes(&bytes).expect("open");
        client.expect_chunks();
        let reply = client.receive().expect("a reply");
        assert!(reply.contains("<data></data>"), "{size}: {reply}");
    }
}

/// §5 row 6
#[test]
fn carriage_returns_are_sent_as_references() {
    let fixture = fixture();
    let mut client = fixture.session();
    client.ok(&edit("running", "<note>a&#13;&#10;b</note>"));
    for _ in 0..2 {
        client.send_request(RUNNING);
        let bytes = client.receive_bytes(CHUNKS_END, 1);
        assert!(!bytes.contains(&b'\r'));
        assert!(String::from_utf8_lossy(&bytes).contains("a&#13;\nb"));
    }
}

/// §5 row 8
#[test]
fn a_hello_may_have_prefixes_and_needs_no_options() {
    let fixture = fixture();
    for hello in [
        format!(
            "<nc:hello xmlns:nc=\"{BASE_NAMESPACE}\"><nc:capabilities><nc:capability>\n {BASE_1_1} </nc:capability></nc:capabilities></nc:hello>"
        ),
        format!(
            "<hello xmlns='{BASE_NAMESPACE}' message-id='7'><capabilities><capability>{BASE_1_1}?x=y</capability><capability>urn:unknown</capability></capabilities></hello>"
        ),
    ] {
        let mut client = fixture.connect();
        client.receive().expect("a hello");
        client.send(&hello);
        client.expect_chunks();
        assert_eq!(client.data(RUNNING), "", "{hello}");
    }
}

/// §5 row 10
#[test]
fn idle_sessions_end_after_their_limit_only_and_never_with_a_subscription() {
    let limits = NetconfLimits {
        idle_time_max: Some(Duration::from_millis(200)),
        message_pause_max: Duration::from_millis(200),
        ..NetconfLimits::default()
    };
    let limited = Fixture::with(limits);
    let idle = limited.session();
    let mut subscribed = limited.session();
    subscribed.ok(&create("<filter/>"));
    let unlimited = fixture();
    let mut other = unlimited.session();
    assert_eq!(idle.end(), SessionEnd::Timeout);
    sleep(Duration::from_millis(1200));
    assert_eq!(subscribed.data(RUNNING), "");
    assert_eq!(other.data(RUNNING), "");
    // Silence inside a message ends any session.
    subscribed.send_bytes(b"\n#9\n<rpc").expect("open");
    assert_eq!(subscribed.end(), SessionEnd::Timeout);
}

/// §5 row 11
#[test]
fn a_request_without_an_identifier_has_missing_attribute() {
    let fixture = fixture();
    let mut client = fixture.session();
    client.send(&format!("<rpc xmlns=\"{BASE_NAMESPACE}\"><get/></rpc>"));
    let reply = client.receive().expect("a reply");
    for part in [
        "<error-type>rpc</error-type>",
        "<error-tag>missing-attribute</error-tag>",
        "<bad-attribute>message-id</bad-attribute>",
        "<bad-element>rpc</bad-element>",
    ] {
        let plain = reply.replace(&format!(" xmlns=\"{BASE_NAMESPACE}\">"), ">");
        assert!(plain.contains(part), "{part}: {reply}");
    }
    assert_eq!(client.data(RUNNING), "");
}

/// §5 row 12
#[test]
fn replies_to_prefixed_requests_are_in_the_namespace_of_messages() {
    let fixture = fixture();
    let mut client = fixture.session();
    for (operation, child) in [
        ("<nc:discard-changes/>", "ok"),
        ("<nc:get-config/>", "rpc-error"),
        (
            "<nc:get-config><nc:source><nc:running/></nc:source></nc:get-config>",
            "data",
        ),
    ] {
        for attributes in ["", " xmlns=\"urn:r\"", " xmlns=\"\""] {
            client.send(&format!(
                "<nc:rpc xmlns:nc=\"{BASE_NAMESPACE}\"{attributes} message-id=\"5\">{operation}</nc:rpc>"
            ));
            let reply = client.receive().expect("a reply");
            let parsed = Element::parse(&reply).expect("XML");
            assert!(parsed.is(BASE_NAMESPACE, "rpc-reply"), "{reply}");
            let children = parsed.children().expect("children");
            assert!(children[0].is(BASE_NAMESPACE, child), "{reply}");
            let inner = children[0].children().expect("children");
            assert!(
                inner.iter().all(|one| one.namespace == BASE_NAMESPACE),
                "{reply}"
            );
        }
    }
}

/// §5 row 13
#[test]
fn parameters_of_base_operations_may_have_no_namespace() {
    let fixture = fixture();
    let mut client = fixture.session();
    for (operation, part) in [
        (
            "<nc:edit-config><target><running/></target><config><top xmlns='urn:r'><note>n</note></top></config></nc:edit-config>",
            "ok",
        ),
        (
            "<nc:get-config><source><running/></source><filter type='subtree'><top xmlns='urn:r'/></filter></nc:get-config>",
            "<note>n</note>",
        ),
        (
            "<nc:kill-session><session-id>99999</session-id></nc:kill-session>",
            "invalid-value",
        ),
    ] {
        client.send(&format!(
            "<nc:rpc xmlns:nc=\"{BASE_NAMESPACE}\" message-id=\"5\">{operation}</nc:rpc>"
        ));
        let reply = client.receive().expect("a reply");
        assert!(reply.contains(part), "{operation}: {reply}");
    }
}

/// §5 row 14
#[test]
fn parameters_may_have_any_order() {
    let fixture = fixture();
    let mut client = fixture.session();
    client.ok(&format!(
        "<edit-config><config>{}</config><error-option>rollback-on-error</error-option><default-operation>merge</default-operation><target><candidate/></target></edit-config>",
        top("<note>n</note>")
    ));
    client.ok(
        "<commit><persist>p</persist><confirm-timeout>60</confirm-timeout><confirmed/></commit>",
    );
    client.ok("<copy-config><source><running/></source><target><startup/></target></copy-config>");
    let filter =
        "<get-config><filter><top xmlns='urn:r'/></filter><source><running/></source></get-config>";
    assert_eq!(client.data(filter), top("<note>n</note>"));
}

/// §5 row 15
#[test]
fn an_empty_output_is_ok() {
    let fixture = Fixture::new();
    let running = fixture.running();
    let anchor = fixture.service.open_anchor("d", "a").expect("an anchor");
    let empty = |_: &OperationCall| Ok(DataTree::default());
    let registered = fixture.service.operations().register(
        &anchor,
        "/m:ping",
        OperationOptions::new("empty"),
        Arc::new(empty),
    );
    let _registered = registered.expect("a registration");
    drop(running);
    let mut client = fixture.session();
    client.ok("<ping xmlns='urn:m'/>");
    client.ok("<ping xmlns='urn:m'><text>x</text></ping>");
}

/// §5 row 16
#[test]
fn odd_requests_have_errors_and_the_session_goes_on() {
    let fixture = fixture();
    let mut client = fixture.session();
    for operation in [
        "<x:y xmlns:x=\"urn:none\"/>",
        "<y xmlns=\"\"/>",
        "<rpc/>",
        "<hello/>",
        "<get-config><source><url>ftp://[::</url></source></get-config>",
        "<copy-config><target><url>file:///etc/passwd</url></target><source><running/></source></copy-config>",
        "<edit-config><target><running/></target><url>http://x/</url></edit-config>",
        "<get-config><source><running><x/></running><!-- c --></source><filter type=\"\"/></get-config>",
        "<action xmlns=\"urn:ietf:params:xml:ns:yang:1\"><action/></action>",
        "<commit><confirmed/><confirm-timeout>-1</confirm-timeout></commit>",
    ] {
        let reply = client.rpc(operation);
        assert!(reply.contains("<rpc-error>"), "{operation}: {reply}");
    }
    assert_eq!(client.data(RUNNING), "");
}

/// §5 row 35
#[test]
fn errors_of_data_have_a_path_and_a_message() {
    let fixture = fixture();
    let mut client = fixture.session();
    for content in [
        "<entry><name>a</name><value>300</value></entry>",
        "<entry><value>3</value></entry>",
        "<none/>",
        "<odd>2</odd>",
        "<kind>none</kind>",
        "<entry nc:operation=\"delete\"><name>a</name></entry>",
        "<part><speed/></part>",
    ] {
        let reply = client.rpc(&edit("running", content));
        for part in [
            "<error-path xmlns:r=\"urn:r\">/r:top",
            "<error-message xml:lang=\"en\">",
        ] {
            assert!(reply.contains(part), "{content}: {reply}");
        }
    }
}

/// §5 row 48: libxml2 refuses text of more than 10,000,000 bytes unless a client permits it; values are smaller.
#[test]
fn values_of_megabytes_are_sent_and_none_is_too_large_for_libxml2() {
    let fixture = fixture();
    let mut client = fixture.session();
    let note = |length| format!("<note>{}</note>", "é".repeat(length));
    let large = note(2_000_000);
    client.ok(&edit("running", &large));
    assert!(client.data(RUNNING) == top(&large));
    let reply = client.rpc(&edit("running", &note(5_000_000)));
    assert!(reply.contains("too-big"), "{reply}");
}
