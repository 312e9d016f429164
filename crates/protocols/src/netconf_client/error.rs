//! The errors of a client.

use crate::netconf::{FramingError, HelloError, NotXml};

use super::rpc_error::RpcError;
use super::ssh::HostKeyError;

/// Why there is no session, or no reply.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ClientError {
    /// The target is not one.
    #[error("“{0}” is no NETCONF server: {1}")]
    Target(String, String),
    /// No connection.
    #[error("cannot connect to {0}: {1}")]
    Connect(String, String),
    /// A limit of time was exceeded.
    #[error("{0}")]
    Timeout(&'static str),
    /// The host key is not accepted.
    #[error(transparent)]
    HostKey(#[from] HostKeyError),
    /// The server rejected all credentials.
    #[error("the server rejected the user “{user}”: {tried}")]
    Authentication {
        /// The user.
        user: String,
        /// What was tried.
        tried: String,
    },
    /// A private key that was named cannot be used.
    #[error("the private key {} cannot be used: {reason}", file.display())]
    PrivateKey {
        /// The file.
        file: std::path::PathBuf,
        /// Why.
        reason: String,
        /// Whether its passphrase is missing.
        is_encrypted: bool,
    },
    /// The transport failed.
    #[error("{0}")]
    Transport(String),
    /// The first message is no `hello`.
    #[error(transparent)]
    Hello(#[from] HelloError),
    /// The first bytes are no message.
    #[error("the server does not use NETCONF: it sent “{0}” instead of a hello")]
    NotNetconf(String),
    /// The server closed the connection.
    #[error("the server closed the connection")]
    Closed,
    /// The server closed the connection in a message.
    #[error("the server closed the connection in the middle of a message")]
    ClosedInMessage,
    /// The bytes are no frame.
    #[error("the server sent a wrong frame: {0}")]
    Framing(#[from] FramingError),
    /// A message is not well-formed, or none that is expected.
    #[error("the server sent a wrong message: {0}")]
    Malformed(String),
    /// A message exceeds a limit.
    #[error("{message} has more than {max} bytes ({limit})")]
    TooBig {
        /// What it is.
        message: &'static str,
        /// The limit.
        max: usize,
        /// The name of the limit.
        limit: &'static str,
    },
    /// The received data cannot be written.
    #[error("the reply cannot be written: {0}")]
    Write(String),
    /// The server replied with errors.
    #[error("{}", list(.0))]
    Rpc(Vec<RpcError>),
}

impl From<NotXml> for ClientError {
    fn from(error: NotXml) -> Self {
        Self::Malformed(error.to_string())
    }
}

fn list(errors: &[RpcError]) -> String {
    let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
    texts.join("; ")
}
