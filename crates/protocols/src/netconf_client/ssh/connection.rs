//! Opens the subsystem `netconf` on an SSH connection (RFC 6242 §3).

use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;

use russh::ChannelMsg;
use russh::client::{Config, Handler, connect_stream};
use russh::keys::{Algorithm, PublicKeyOrCertificate};
use tokio::io::{AsyncReadExt, join, split};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::authentication::{Authentication, failed};
use super::host_key::{HostKeyError, KnownHost};
use super::options::SshOptions;
use crate::netconf_client::error::ClientError;
use crate::netconf_client::limits::ClientLimits;
use crate::netconf_client::server_url::HostAndPort;
use crate::netconf_client::session::Connection;

/// The name of the subsystem.
const SUBSYSTEM: &str = "netconf";

/// The silence after which the server is probed.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);

/// Checks the host key.
pub(super) struct ClientHandler {
    known: KnownHost,
}

/// Why a connection failed.
#[derive(Debug)]
pub(super) enum Failed {
    HostKey(HostKeyError),
    Ssh(russh::Error),
}

impl From<russh::Error> for Failed {
    fn from(error: russh::Error) -> Self {
        Self::Ssh(error)
    }
}

impl From<Failed> for ClientError {
    fn from(error: Failed) -> Self {
        match error {
            Failed::HostKey(error) => error.into(),
            Failed::Ssh(error) => failed(error),
        }
    }
}

impl Handler for ClientHandler {
    type Error = Failed;

    async fn check_server_key(&mut self, key: &PublicKeyOrCertificate) -> Result<bool, Failed> {
        match key {
            PublicKeyOrCertificate::PublicKey { key, .. } => {
                self.known.check(key).map_err(Failed::HostKey)?;
                Ok(true)
            }
            // None is offered, as certificates of hosts are not supported.
            PublicKeyOrCertificate::Certificate(_) => Ok(false),
        }
    }
}

/// Authenticates on a stream to a server, and opens its subsystem `netconf`.
pub(in crate::netconf_client) async fn open(
    stream: TcpStream,
    server: &HostAndPort,
    user: &str,
    options: &SshOptions,
    limits: &ClientLimits,
) -> Result<Connection, ClientError> {
    let known = KnownHost::read(options, server)?;
    let config = Arc::new(config(&known));
    let connecting = connect_stream(config, stream, ClientHandler { known });
    let mut handle = timeout(limits.connect_time_max, connecting)
        .await
        .map_err(|_| {
            ClientError::Timeout("the SSH key exchange took too long (connect_time_max)")
        })??;
    // Without a limit of time: a person may type a password, and servers have a limit of their own.
    let authentication = Authentication {
        handle: &mut handle,
        options,
        user,
        host: &server.host,
        tried: Vec::new(),
        unused: Vec::new(),
        methods: Vec::new(),
    };
    authentication.run().await?;
    let opening = async {
        let mut channel = handle.channel_open_session().await?;
        channel.request_subsystem(true, SUBSYSTEM).await?;
        let first = loop {
            match channel.wait().await {
                Some(ChannelMsg::Success) => break Vec::new(),
                // Some servers send the hello first.
                Some(ChannelMsg::Data { data }) => break data.to_vec(),
                Some(ChannelMsg::Failure) | None => return Ok(None),
                Some(_) => {}
            }
        };
        Ok::<_, russh::Error>(Some((channel, first)))
    };
    let opened = timeout(limits.connect_time_max, opening).await;
    let opened = opened.map_err(|_| {
        ClientError::Timeout("the server did not open the subsystem in time (connect_time_max)")
    })?;
    let Some((channel, first)) = opened.map_err(failed)? else {
        let message =
            "the server has no SSH subsystem “netconf”: is it on another port (830 is usual)?";
        return Err(ClientError::Transport(message.to_owned()));
    };
    let (reader, writer) = split(channel.into_stream());
    Ok(Connection {
        stream: Box::new(join(Cursor::new(first).chain(reader), writer)),
        guard: Some(Box::new(handle)),
    })
}

fn config(known: &KnownHost) -> Config {
    let mut config = Config {
        keepalive_interval: Some(KEEPALIVE_INTERVAL),
        ..Config::default()
    };
    let mut algorithms: Vec<Algorithm> = config.preferred.key.to_vec();
    known.sort(&mut algorithms);
    config.preferred.key = algorithms.into();
    config
}
