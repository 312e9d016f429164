//! Frames that are split anywhere, and wrong ones.

use espalier_protocols::netconf::{BASE_1_0, BASE_1_1, BASE_NAMESPACE, Framing, SessionEnd};

use crate::support::{Fixture, framed};

fn get(id: u32) -> String {
    format!(
        "<rpc message-id=\"{id}\" xmlns=\"{BASE_NAMESPACE}\"><get-config><source><running/></source></get-config></rpc>"
    )
}

/// Requests may be sent without waiting for replies, split at any byte; the replies have their order.
///
/// §5 row 5
#[test]
fn requests_are_read_wherever_they_are_split() {
    let fixture = Fixture::new();
    for version in [BASE_1_0, BASE_1_1] {
        let mut client = fixture.connect();
        client.greet(&[version]);
        let bytes: Vec<u8> = (1..=3)
            .flat_map(|id| framed(client.framing, &get(id)))
            .collect();
        for at in 0..bytes.len() {
            client.send_bytes(&bytes[..at]).expect("open");
            client.send_bytes(&bytes[at..]).expect("open");
            for id in 1..=3 {
                let reply = client.receive().expect("a reply");
                assert!(
                    reply.contains(&format!("message-id=\"{id}\"")),
                    "{at}: {reply}"
                );
                assert!(reply.contains("<data></data>"), "{at}: {reply}");
            }
        }
    }
}

/// A wrong frame ends the session; in base:1.1 the client learns why.
///
/// §5 row 3
#[test]
fn a_wrong_frame_ends_the_session() {
    let fixture = Fixture::new();
    for (bytes, reason) in [
        (&b"\n#x\n"[..], "number"),
        (b"<rpc/>]]>]]>", "base:1.1"),
        (b"\n##\n", "one chunk"),
        (b"\n#3\n\xff\xff\xff\n##\n", "UTF-8"),
        (b"\n#5\n<rpc>\n##\n", "well-formed"),
        (b"\n#4\n<a/>\n##\n", "must be an rpc"),
    ] {
        let mut client = fixture.session();
        client.send_bytes(bytes).expect("open");
        let reply = client.receive().expect("a reply");
        assert!(
            reply.contains("malformed-message") && reply.contains(reason),
            "{reply}"
        );
        assert!(client.receive().is_none());
        assert!(matches!(client.end(), SessionEnd::Malformed(_)));
    }
    let mut client = fixture.connect();
    client.greet(&[BASE_1_0]);
    client.send("<a");
    assert_eq!(client.framing, Framing::EndOfMessage);
    assert!(client.receive().is_none());
    assert!(matches!(client.end(), SessionEnd::Malformed(_)));
}

#[test]
fn a_message_that_is_too_long_is_rejected() {
    let limits = espalier_protocols::netconf::NetconfLimits {
        message_bytes_max: 10_000,
        ..Default::default()
    };
    let fixture = Fixture::with(limits);
    let mut client = fixture.session();
    let _ = client.send_bytes(&framed(Framing::Chunked, &"x".repeat(20_000)));
    let reply = client.receive().expect("a reply");
    assert!(reply.contains("too-big"), "{reply}");
    assert!(client.receive().is_none());
}
