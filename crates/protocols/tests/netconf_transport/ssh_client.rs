//! A client of SSH whose bytes the test chooses.

use std::net::TcpListener;

use russh::client::{self, Handle};
use russh::keys::PublicKeyOrCertificate;
use russh::{Channel, ChannelMsg};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::{PASSWORD, SOON, Server};

/// A client that accepts all host keys.
pub struct Client;

impl client::Handler for Client {
    type Error = russh::Error;

    async fn check_server_key(
        &mut self,
        _key: &PublicKeyOrCertificate,
    ) -> Result<bool, Self::Error> {
        Ok(true)
    }
}

/// Receives the lines of a channel.
pub struct LineChannel {
    channel: Channel<client::Msg>,
    received: Vec<u8>,
}

pub async fn connect(server: &Server) -> Handle<Client> {
    let stream = TcpStream::connect(server.address).await;
    let client = log_in(stream.expect("a connection"), PASSWORD).await;
    client.expect("a login")
}

/// The client of the next connection of a server that calls home, which logs in as `ann` with a password; `None` if it is
/// rejected.
pub async fn accept(listener: &TcpListener, password: &str) -> Option<Handle<Client>> {
    let (stream, _) = listener.accept().expect("a connection");
    stream.set_nonblocking(true).expect("a socket");
    log_in(TcpStream::from_std(stream).expect("a socket"), password).await
}

async fn log_in(stream: TcpStream, password: &str) -> Option<Handle<Client>> {
    let config = client::Config::default();
    let client = client::connect_stream(config.into(), stream, Client);
    let mut client = client.await.expect("a connection");
    let login = client.authenticate_password("ann", password).await;
    login.expect("an answer").success().then_some(client)
}

pub async fn netconf(client: &Handle<Client>) -> LineChannel {
    let channel = client.channel_open_session().await.expect("a channel");
    channel
        .request_subsystem(true, "netconf")
        .await
        .expect("a request");
    let mut lines = LineChannel {
        channel,
        received: Vec::new(),
    };
    assert_eq!(lines.next().await, "hello ann netconf-ssh 127.0.0.1");
    lines
}

impl LineChannel {
    pub async fn send(&self, text: &str) {
        self.channel
            .data(text.as_bytes())
            .await
            .expect("a connection");
    }

    pub async fn next(&mut self) -> String {
        loop {
            if let Some(end) = self.received.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                return String::from_utf8(line[..end].to_vec()).expect("UTF-8");
            }
            let message = timeout(SOON, self.channel.wait()).await.expect("a message");
            match message.expect("an open channel") {
                ChannelMsg::Data { data } => self.received.extend_from_slice(&data),
                ChannelMsg::Success | ChannelMsg::WindowAdjusted { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Closes the channel.
    pub async fn close(&self) {
        self.channel.close().await.expect("a connection");
    }

    /// Waits for the end of the channel.
    pub async fn ended(&mut self) {
        ended(&mut self.channel).await;
    }
}

/// Waits for the end of a channel.
pub async fn ended(channel: &mut Channel<client::Msg>) {
    let end = async { while channel.wait().await.is_some() {} };
    timeout(SOON, end).await.expect("the end of the channel");
}
