//! Connects to a server, or waits for one that connects.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::time::timeout;

use super::error::ClientError;
use super::limits::ClientLimits;
use super::server_url::{HostAndPort, Target};
use super::session::{Connection, Session};
use super::ssh::{self, SshOptions};
use super::tls::TlsOptions;
use crate::netconf::transport::{TransportLimits, set_tcp_options};
use crate::netconf::{BASE_1_0, BASE_1_1};

/// How a client connects.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// For targets with SSH.
    pub ssh: SshOptions,
    /// For targets with TLS, which need it.
    pub tls: Option<TlsOptions>,
    /// The limits of the session.
    pub limits: ClientLimits,
    /// The capabilities of the client; the default has both versions of the protocol.
    pub capabilities: Vec<String>,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            ssh: SshOptions::default(),
            tls: None,
            limits: ClientLimits::default(),
            capabilities: vec![BASE_1_0.to_owned(), BASE_1_1.to_owned()],
        }
    }
}

/// Connects to a server and begins a session. For a target of call home, waits for one server that connects.
///
/// # Errors
/// There is no connection or no authentication, or the server does not use NETCONF.
pub async fn connect(target: &Target, options: &ConnectOptions) -> Result<Session, ClientError> {
    let connection = match target {
        Target::Unix(path) => {
            let stream = UnixStream::connect(path).await;
            let stream = stream.map_err(|error| no_connection(target, &error))?;
            Connection::of(stream)
        }
        Target::Ssh { server, .. } | Target::Tls(server) => {
            let stream = tcp(target, server, &options.limits).await?;
            secure(target, stream, server, options).await?
        }
        Target::CallHomeSsh { .. } | Target::CallHomeTls(_) => {
            let listener = CallHomeListener::bind(target).await?;
            return listener.accept(options).await;
        }
    };
    Session::begin_on(connection, &options.capabilities, &options.limits).await
}

/// Waits for servers that connect (RFC 8071).
pub struct CallHomeListener {
    target: Target,
    listener: TcpListener,
}

impl CallHomeListener {
    /// Listens at the address of a target.
    ///
    /// # Errors
    /// The address cannot be used, or the target is none of call home.
    pub async fn bind(target: &Target) -> Result<Self, ClientError> {
        let (Target::CallHomeSsh { listen, .. } | Target::CallHomeTls(listen)) = target else {
            let reason = "expected call-home+ssh:// or call-home+tls://";
            return Err(ClientError::Target(target.to_string(), reason.to_owned()));
        };
        let listener = TcpListener::bind((listen.host.as_str(), listen.port)).await;
        let listener = listener.map_err(|error| {
            ClientError::Transport(format!("cannot listen on {listen}: {error}"))
        })?;
        Ok(Self {
            target: target.clone(),
            listener,
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The socket was closed.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Waits for the next server, and begins a session with it.
    ///
    /// # Errors
    /// As [`connect`].
    pub async fn accept(&self, options: &ConnectOptions) -> Result<Session, ClientError> {
        let accepted = match options.limits.call_home_time_max {
            Some(most) => timeout(most, self.listener.accept()).await.map_err(|_| {
                ClientError::Timeout("no server has called home in time (call_home_time_max)")
            })?,
            None => self.listener.accept().await,
        };
        let (stream, address) = accepted.map_err(|error| no_connection(&self.target, &error))?;
        let server = HostAndPort {
            host: address.ip().to_canonical().to_string(),
            port: match &self.target {
                Target::CallHomeSsh { listen, .. } => listen.port,
                _ => address.port(),
            },
        };
        tracing::info!(%address, "a server has connected");
        let connection = secure(&self.target, stream, &server, options).await?;
        Session::begin_on(connection, &options.capabilities, &options.limits).await
    }
}

fn no_connection(target: &Target, error: &std::io::Error) -> ClientError {
    ClientError::Connect(target.to_string(), error.to_string())
}

async fn tcp(
    target: &Target,
    server: &HostAndPort,
    limits: &ClientLimits,
) -> Result<TcpStream, ClientError> {
    let connecting = TcpStream::connect((server.host.as_str(), server.port));
    let connected = timeout(limits.connect_time_max, connecting).await;
    let late = || {
        let reason = "no answer in time (connect_time_max)";
        ClientError::Connect(target.to_string(), reason.to_owned())
    };
    let stream = connected.map_err(|_| late())?;
    stream.map_err(|error| no_connection(target, &error))
}

/// Authenticates both sides on a connection.
async fn secure(
    target: &Target,
    stream: TcpStream,
    server: &HostAndPort,
    options: &ConnectOptions,
) -> Result<Connection, ClientError> {
    // Detects that a silent server is gone.
    set_tcp_options(&stream, &TransportLimits::default())
        .map_err(|error| no_connection(target, &error))?;
    match target {
        Target::Ssh { user, .. } | Target::CallHomeSsh { user, .. } => {
            let user = user.as_deref().unwrap_or(&options.ssh.user);
            ssh::open(stream, server, user, &options.ssh, &options.limits).await
        }
        Target::Tls(_) | Target::CallHomeTls(_) => {
            let tls = options.tls.as_ref().ok_or_else(|| {
                let message =
                    "TLS needs the authorities of servers, and a certificate of the client";
                ClientError::Transport(message.to_owned())
            })?;
            let handshake = tls.secure(stream, &server.host);
            let secured = timeout(options.limits.connect_time_max, handshake).await;
            let secured = secured.map_err(|_| {
                ClientError::Timeout("the TLS handshake took too long (connect_time_max)")
            })?;
            Ok(Connection::of(secured?))
        }
        Target::Unix(_) => Err(ClientError::Transport(
            "a socket has no handshake".to_owned(),
        )),
    }
}
