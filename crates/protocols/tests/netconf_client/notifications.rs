//! Notifications between replies.

use espalier_protocols::netconf::BASE_1_1;
use espalier_protocols::netconf_client::{ClientError, ClientLimits};

use crate::peer::{Peer, run};

fn notification(number: u32) -> String {
    format!(
        "<notification xmlns=\"urn:ietf:params:xml:ns:netconf:notification:1.0\"><n>{number}</n></notification>"
    )
}

/// They arrive in order, between and before replies.
#[test]
fn notifications_are_apart_from_replies() {
    let serve = |mut peer: Peer| async move {
        peer.greet(&[BASE_1_1]).await;
        for number in 0..3 {
            let id = peer.request().await.expect("a request");
            peer.send(&notification(2 * number)).await;
            peer.reply(&id, "<ok/>").await;
            peer.send(&notification(2 * number + 1)).await;
        }
    };
    run(ClientLimits::default(), serve, |session| async move {
        let session = session.expect("a session");
        let mut notifications = session.notifications().expect("notifications");
        assert!(session.notifications().is_none());
        for _ in 0..3 {
            session.request("<get/>").await.expect("a reply");
        }
        for number in 0..6 {
            let text = notifications.next().await.expect("a notification");
            assert!(
                text.text().contains(&format!("<n>{number}</n>")),
                "{text:?}"
            );
        }
        let end = notifications.next().await;
        assert!(matches!(end, Err(ClientError::Closed)), "{end:?}");
    });
}

/// Notifications that nobody reads neither use up the memory nor hold up replies. Without a waiting request they wait.
#[test]
fn notifications_that_are_not_read_do_not_hold_up_replies() {
    const COUNT: u32 = 1000;
    let serve = |mut peer: Peer| async move {
        peer.greet(&[BASE_1_1]).await;
        for number in 0..10 {
            peer.send(&notification(number)).await;
        }
        let id = peer.request().await.expect("a request");
        for number in 10..COUNT {
            peer.send(&notification(number)).await;
        }
        peer.reply(&id, "<ok/>").await;
        while peer.request().await.is_some() {}
    };
    let limits = ClientLimits {
        notifications_queued_max: 4,
        ..ClientLimits::default()
    };
    run(limits, serve, |session| async move {
        let session = session.expect("a session");
        let mut notifications = session.notifications().expect("notifications");
        session.request("<get/>").await.expect("a reply");
        let mut read = 0;
        while notifications.try_next().is_some() {
            read += 1;
        }
        assert_eq!(read + notifications.take_lost(), u64::from(COUNT));
        assert_eq!(notifications.take_lost(), 0);
    });
}
