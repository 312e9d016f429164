//! Replies by their identifiers, in both framings, split anywhere.

use std::time::Duration;

use espalier_protocols::netconf::{BASE_1_0, BASE_1_1, BASE_NAMESPACE};
use espalier_protocols::netconf_client::{ClientError, ClientLimits};
use espalier_testkit::seed;
use rand::Rng;
use rand::rngs::StdRng;

use crate::peer::{Peer, framed, reply, run};

/// Servers of one version only, and of both.
#[test]
fn servers_of_either_version() {
    for versions in [&[BASE_1_0][..], &[BASE_1_1], &[BASE_1_0, BASE_1_1]] {
        let serve = move |mut peer: Peer| async move {
            peer.greet(versions).await;
            while let Some(id) = peer.request().await {
                peer.reply(&id, "<data>é</data>").await;
            }
        };
        run(ClientLimits::default(), serve, |session| async move {
            let session = session.expect("a session");
            assert_eq!(session.hello().session_id, 7);
            for _ in 0..3 {
                let reply = session.request("<get/>").await.expect("a reply");
                assert_eq!(reply.data().expect("data").text().expect("text"), "é");
            }
            session.close().await.expect("an end");
        });
    }
}

/// Replies belong to the requests of their identifiers, in any order.
#[test]
fn pipelined_requests_get_their_own_replies() {
    let serve = |mut peer: Peer| async move {
        peer.greet(&[BASE_1_1]).await;
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.push(peer.request().await.expect("a request"));
        }
        for id in ids.iter().rev() {
            peer.reply(id, &format!("<data>{id}</data>")).await;
        }
    };
    run(ClientLimits::default(), serve, |session| async move {
        let session = session.expect("a session");
        let mut streams = Vec::new();
        for _ in 0..3 {
            streams.push(session.begin("<get/>").await.expect("sent"));
        }
        for (index, stream) in (1..).zip(streams) {
            let reply = stream.reply().await.expect("a reply");
            let text = reply.data().expect("data").text().expect("text");
            assert_eq!(text, index.to_string());
        }
    });
}

/// A server that cannot parse a message cannot repeat its identifier.
#[test]
fn a_reply_without_an_identifier_is_that_of_the_oldest_request() {
    let serve = |mut peer: Peer| async move {
        peer.greet(&[BASE_1_1]).await;
        peer.request().await;
        let error = "<rpc-error><error-tag>malformed-message</error-tag></rpc-error>";
        peer.send(&format!(
            "<rpc-reply xmlns=\"{BASE_NAMESPACE}\">{error}</rpc-reply>"
        ))
        .await;
    };
    run(ClientLimits::default(), serve, |session| async move {
        let error = session.expect("a session").request("<get/>").await;
        match error {
            Err(ClientError::Rpc(errors)) => assert_eq!(errors[0].tag, "malformed-message"),
            other => panic!("{other:?}"),
        }
    });
}

/// What a request that nobody waits for any more gets is dropped, and the session goes on.
#[test]
fn a_late_reply_does_not_end_the_session() {
    let serve = |mut peer: Peer| async move {
        peer.greet(&[BASE_1_1]).await;
        let late = peer.request().await.expect("a request");
        let next = peer.request().await.expect("a request");
        peer.reply(&late, &format!("<data>{}</data>", "x".repeat(1 << 20)))
            .await;
        peer.reply(&next, "<ok/>").await;
        while peer.request().await.is_some() {}
    };
    let limits = ClientLimits {
        reply_time_max: Some(Duration::from_millis(200)),
        ..ClientLimits::default()
    };
    run(limits, serve, |session| async move {
        let session = session.expect("a session");
        let late = session.request("<get/>").await;
        assert!(matches!(late, Err(ClientError::Timeout(_))), "{late:?}");
        session.request("<get/>").await.expect("a reply");
    });
}

/// Random replies and notifications, in both framings, arrive in pieces of random sizes.
#[test]
fn messages_split_anywhere() {
    seed::run("messages_split_anywhere", |random| {
        for round in 0..60 {
            split_anywhere([BASE_1_0, BASE_1_1][round % 2], random);
        }
    });
}

/// Texts with what frames have.
fn texts(random: &mut StdRng) -> Vec<String> {
    let letters = ["a", "é", "]]&gt;]]", "\n#1\n", "\n##\n", "𝄞", "&lt;"];
    let mut text = || -> String {
        let length = random.random_range(0..300);
        (0..length)
            .map(|_| letters[random.random_range(0..letters.len())])
            .collect()
    };
    (0..4).map(|_| text()).collect()
}

fn split_anywhere(version: &'static str, random: &mut StdRng) {
    let texts = texts(random);
    let sizes: Vec<usize> = (0..64).map(|_| random.random_range(1..40)).collect();
    let sent = texts.clone();
    let serve = move |mut peer: Peer| async move {
        peer.greet(&[version]).await;
        for text in sent {
            let id = peer.request().await.expect("a request");
            let mut bytes = framed(peer.framing, NOTIFICATION);
            bytes.extend(framed(
                peer.framing,
                &reply(&id, &format!("<data>{text}</data>")),
            ));
            let mut rest = &bytes[..];
            for size in sizes.iter().cycle() {
                let (piece, after) = rest.split_at(rest.len().min(*size));
                peer.send_bytes(piece).await;
                rest = after;
                if rest.is_empty() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
    };
    run(ClientLimits::default(), serve, |session| async move {
        let session = session.expect("a session");
        let mut notifications = session.notifications().expect("notifications");
        for text in &texts {
            let mut copied = Vec::new();
            let stream = session.begin("<get/>").await.expect("sent");
            stream.copy_element(&mut copied).await.expect("a reply");
            let copied = String::from_utf8(copied).expect("UTF-8");
            let begin = format!("<data xmlns=\"{BASE_NAMESPACE}\">");
            let content = copied.trim_end().strip_prefix(&begin).expect("the begin");
            let content = content.strip_suffix("</data>").expect("the end");
            assert_eq!(decoded(content), decoded(text));
            notifications.next().await.expect("a notification");
        }
    });
}

const NOTIFICATION: &str =
    "<notification xmlns=\"urn:ietf:params:xml:ns:netconf:notification:1.0\"/>";

/// Text without references: in `base:1.0` characters that are not ASCII are references.
fn decoded(content: &str) -> String {
    let document = format!("<a>.{content}.</a>");
    let element = espalier_protocols::netconf::Element::parse(&document).expect("an element");
    element.text().expect("text")
}
