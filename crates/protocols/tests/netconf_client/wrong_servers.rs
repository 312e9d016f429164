//! Servers that are none, or stop.

use std::time::Duration;

use espalier_protocols::netconf::{BASE_1_0, BASE_1_1, BASE_NAMESPACE};
use espalier_protocols::netconf_client::{ClientError, ClientLimits};

use crate::peer::{Peer, run};

/// Limits that tests can wait for.
fn short() -> ClientLimits {
    ClientLimits {
        hello_time_max: Duration::from_millis(300),
        message_pause_max: Duration::from_millis(300),
        reply_time_max: Some(Duration::from_millis(700)),
        hello_bytes_max: 10_000,
        close_time_max: Duration::from_millis(300),
        ..ClientLimits::default()
    }
}

/// The error of a connection on which a server sends bytes, and then waits or closes.
fn error_of_hello(bytes: &[u8], closes: bool) -> String {
    let bytes = bytes.to_vec();
    let serve = move |mut peer: Peer| async move {
        peer.send_bytes(&bytes).await;
        if !closes {
            // Until the client is gone.
            while peer.message().await.is_some() {}
        }
    };
    run(short(), serve, |session| async move {
        match session {
            Ok(_) => panic!("a session"),
            Err(error) => error.to_string(),
        }
    })
}

#[test]
fn what_is_no_hello_is_rejected_with_the_reason() {
    let hello = |content: &str| format!("<hello xmlns='{BASE_NAMESPACE}'>{content}</hello>]]>]]>");
    let capability =
        |uri: &str| format!("<capabilities><capability>{uri}</capability></capabilities>");
    let id = "<session-id>1</session-id>";
    let large = format!("<hello>{}", "x".repeat(100_000));
    for (bytes, expected) in [
        (
            "HTTP/1.1 400 Bad Request\r\n\r\n".to_owned(),
            "HTTP/1.1 400",
        ),
        (large, "hello_bytes_max"),
        ("<rpc/>]]>]]>".to_owned(), "must be a hello"),
        ("<hello]]>]]>".to_owned(), "not well-formed"),
        (hello(id), "no capabilities"),
        (hello(&capability(BASE_1_1)), "session-id"),
        (
            hello(&format!(
                "{}<session-id>0</session-id>",
                capability(BASE_1_1)
            )),
            "session-id",
        ),
        (
            hello(&format!("{}{id}", capability("urn:other"))),
            "neither",
        ),
        ("\n#x\n".to_owned(), "wrong frame"),
    ] {
        let error = error_of_hello(bytes.as_bytes(), false);
        assert!(error.contains(expected), "{bytes:.60}: {error}");
    }
    for (bytes, closes, expected) in [
        ("", false, "hello_time_max"),
        ("", true, "closed the connection"),
        ("<hello", true, "in the middle of a message"),
    ] {
        let error = error_of_hello(bytes.as_bytes(), closes);
        assert!(error.contains(expected), "{bytes}: {error}");
    }
}

/// The error of a request to which a server sends bytes, and then waits or closes.
fn error_of_reply(bytes: &'static [u8], closes: bool) -> ClientError {
    let serve = move |mut peer: Peer| async move {
        peer.greet(&[BASE_1_0, BASE_1_1]).await;
        peer.request().await.expect("a request");
        peer.send_bytes(bytes).await;
        if !closes {
            while peer.message().await.is_some() {}
        }
    };
    run(short(), serve, |session| async move {
        let session = session.expect("a session");
        let error = session.request("<get/>").await.expect_err("no reply");
        if !matches!(error, ClientError::Timeout(text) if text.contains("reply_time_max")) {
            // The session has ended, and each request has the reason.
            let again = session.request("<get/>").await.expect_err("no session");
            assert_eq!(again.to_string(), error.to_string());
        }
        error
    })
}

#[test]
fn servers_that_stop_or_send_garbage_end_the_session_with_the_reason() {
    for (bytes, closes, expected) in [
        (&b""[..], false, "reply_time_max"),
        (b"", true, "closed the connection"),
        (b"\n#100\n<rpc-reply", true, "in the middle of a message"),
        (b"\n#100\n<rpc-reply", false, "message_pause_max"),
        (b"\n#0\n", false, "size of a chunk"),
        (b"<rpc-reply/>]]>]]>", false, "without chunks"),
        (b"\n#7\n<other>\n#8\n</other>\n##\n", false, "not “other”"),
        (b"\n#4\n<a b\n##\n", false, "not well-formed"),
        (b"\n#2\n\xff\xff\n##\n", false, "UTF-8"),
    ] {
        let error = error_of_reply(bytes, closes).to_string();
        assert!(error.contains(expected), "{bytes:?}: {error}");
    }
}

#[test]
fn a_reply_to_no_request_ends_the_session() {
    let serve = |mut peer: Peer| async move {
        peer.greet(&[BASE_1_1]).await;
        peer.request().await.expect("a request");
        peer.reply("other", "<ok/>").await;
        while peer.message().await.is_some() {}
    };
    run(short(), serve, |session| async move {
        let error = session.expect("a session").request("<get/>").await;
        let error = error.expect_err("no reply").to_string();
        assert!(error.contains("reply to no request"), "{error}");
    });
}

/// A slow server that goes on is waited for.
#[test]
fn a_slow_server_is_waited_for() {
    let serve = |mut peer: Peer| async move {
        peer.greet(&[BASE_1_1]).await;
        let id = peer.request().await.expect("a request");
        let text = crate::peer::reply(&id, "<data>slow</data>");
        let bytes = crate::peer::framed(peer.framing, &text);
        for piece in bytes.chunks(8) {
            peer.send_bytes(piece).await;
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        while peer.message().await.is_some() {}
    };
    let limits = ClientLimits {
        reply_time_max: Some(Duration::from_secs(10)),
        ..short()
    };
    run(limits, serve, |session| async move {
        let session = session.expect("a session");
        session.request("<get/>").await.expect("a reply");
        // It never confirms the end.
        let end = session.close().await;
        assert!(matches!(end, Err(ClientError::Timeout(_))), "{end:?}");
    });
}
