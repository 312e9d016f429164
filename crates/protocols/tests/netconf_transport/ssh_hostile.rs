//! Clients that do not do what they should, and sessions that are slow.

use std::time::Duration;

use russh::ChannelMsg;
use tokio::time::timeout;

use espalier_protocols::netconf::transport::TransportLimits;

use crate::ssh_client::{connect, ended, netconf};
use crate::support::{SOON, Server, limits, soon};

/// §5 row 9
#[test]
fn a_session_that_does_not_read_delays_no_other_channel() {
    let server = Server::ssh(limits());
    server.runtime.block_on(async {
        let client = connect(&server).await;
        let mut stalled = netconf(&client).await;
        let mut other = netconf(&client).await;
        stalled.send("stall\n").await;
        assert_eq!(stalled.next().await, "stalled");
        // Far more messages than russh keeps for a channel.
        for number in 0..3_000 {
            stalled.send(&format!("line {number}\n")).await;
        }
        other.send("other\n").await;
        assert_eq!(other.next().await, "other");
        server.lines.release();
        for number in 0..3_000 {
            assert_eq!(stalled.next().await, format!("line {number}"));
        }
    });
}

/// Row 9 of the table of user-reported problems: netopeer2 issues 1495, 1776, 1414.
#[test]
fn a_channel_whose_client_does_not_read_delays_no_other_channel() {
    let server = Server::ssh(limits());
    server.runtime.block_on(async {
        let client = connect(&server).await;
        let unread = client.channel_open_session().await.unwrap();
        let (mut unread, write) = unread.split();
        write.request_subsystem(true, "netconf").await.unwrap();
        write.data(&b"send 100000000\n"[..]).await.unwrap();
        // The window of the client, 2 MiB, opens only when it reads: russh's own keeps 100 messages of a channel.
        let mut bytes = 0;
        while bytes < 1 << 20 {
            if let Some(ChannelMsg::Data { data }) = unread.wait().await {
                bytes += data.len();
            }
        }
        let other = connect(&server).await;
        let mut other = netconf(&other).await;
        for _ in 0..10 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            other.send("other\n").await;
            assert_eq!(other.next().await, "other");
        }
        assert_eq!(server.context.sessions(), 2);
    });
}

#[test]
fn data_before_the_subsystem_end_the_channel() {
    let server = Server::ssh(limits());
    server.runtime.block_on(async {
        let client = connect(&server).await;
        let mut channel = client.channel_open_session().await.unwrap();
        channel.data(&b"hello?"[..]).await.unwrap();
        ended(&mut channel).await;
        let mut channel = client.channel_open_session().await.unwrap();
        channel.extended_data(1, &b"hello?"[..]).await.unwrap();
        ended(&mut channel).await;
        netconf(&client).await;
    });
}

#[test]
fn requests_before_the_subsystem_are_refused_without_bound() {
    let server = Server::ssh(limits());
    server.runtime.block_on(async {
        let client = connect(&server).await;
        let mut channel = client.channel_open_session().await.unwrap();
        for number in 0..500 {
            let name = format!("NAME_{number}");
            channel.set_env(true, name, "value").await.unwrap();
            let answer = timeout(SOON, channel.wait()).await.expect("an answer");
            assert!(matches!(answer, Some(ChannelMsg::Failure)), "{answer:?}");
        }
        channel.request_subsystem(true, "netconf").await.unwrap();
        let answer = timeout(SOON, channel.wait()).await.expect("an answer");
        assert!(matches!(answer, Some(ChannelMsg::Success)), "{answer:?}");
        // Only once for a channel.
        channel.request_subsystem(true, "netconf").await.unwrap();
        loop {
            match timeout(SOON, channel.wait()).await.expect("an answer") {
                Some(ChannelMsg::Failure) => break,
                Some(ChannelMsg::Data { .. }) => {}
                other => panic!("{other:?}"),
            }
        }
    });
}

#[test]
fn channels_of_a_connection() {
    let server = Server::ssh(TransportLimits {
        channels_max: 3,
        channels_opened_max: 5,
        ..limits()
    });
    server.runtime.block_on(async {
        let client = connect(&server).await;
        let mut first = netconf(&client).await;
        let _waiting = client.channel_open_session().await.unwrap();
        let _second = netconf(&client).await;
        assert!(client.channel_open_session().await.is_err());
        first.send("close\n").await;
        first.ended().await;
        soon("the session ends", || server.context.sessions() == 1);
        for _ in 0..2 {
            let third = netconf(&client).await;
            third.close().await;
            soon("the session ends", || server.context.sessions() == 1);
        }
        // channels_opened_max.
        assert!(client.channel_open_session().await.is_err());
    });
}

#[test]
fn shutdown_ends_all_connections() {
    let server = Server::ssh(limits());
    server.runtime.block_on(async {
        let client = connect(&server).await;
        let mut session = netconf(&client).await;
        let _silent = tokio::net::TcpStream::connect(server.address)
            .await
            .unwrap();
        soon("connections", || server.context.connections() == 2);
        server.context.shut_down().await;
        assert_eq!(server.context.connections(), 0);
        session.ended().await;
        soon("the listener ends", || {
            std::net::TcpStream::connect(server.address).is_err()
        });
    });
}
