//! What a client presents, and what the service makes of it.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// The bits of an IPv6 address that are the same for one client.
const IPV6_CLIENT_BITS: u32 = 64;

/// What a client presents to prove its identity. `Debug` has no secret.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// A name and a password: HTTP Basic, SSH.
    Password {
        /// The user name.
        user: String,
        /// The password.
        password: String,
    },
    /// The text of a bearer token.
    Token(String),
    /// A name and a public key of SSH. The transport has verified that the client has the private key.
    PublicKey {
        /// The user name.
        user: String,
        /// The public key algorithm, or one of its signature algorithms.
        algorithm: String,
        /// The public key blob (RFC 4253 §6.6).
        data: Vec<u8>,
    },
    /// The certificates that a TLS client sent, in DER, its own first. The transport has verified that the client has
    /// the key, and that a trusted authority issued the certificate or that it is pinned.
    Certificate(Vec<Vec<u8>>),
    /// The user id of the process at the other end of a Unix socket, from the kernel.
    UnixPeer {
        /// The user id.
        uid: u32,
    },
    /// Nothing.
    None,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Password { user, .. } => f
                .debug_struct("Password")
                .field("user", user)
                .finish_non_exhaustive(),
            Self::Token(_) => f.write_str("Token(..)"),
            Self::PublicKey {
                user, algorithm, ..
            } => f
                .debug_struct("PublicKey")
                .field("user", user)
                .field("algorithm", algorithm)
                .finish_non_exhaustive(),
            Self::Certificate(chain) => write!(f, "Certificate({} certificates)", chain.len()),
            Self::UnixPeer { uid } => f.debug_struct("UnixPeer").field("uid", uid).finish(),
            Self::None => f.write_str("None"),
        }
    }
}

/// Where a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Peer {
    /// At the other end of a Unix socket, or in this process.
    Local,
    /// At an address.
    Address(IpAddr),
}

impl Peer {
    /// Returns whether the client is on this machine.
    pub fn is_on_this_machine(&self) -> bool {
        match self {
            Self::Local => true,
            Self::Address(address) => address.to_canonical().is_loopback(),
        }
    }

    /// The peer without what a client may choose itself: the lower half of an IPv6 address.
    #[must_use]
    pub fn network(self) -> Self {
        match self {
            Self::Address(address) => match address.to_canonical() {
                IpAddr::V6(address) => {
                    let network = address.to_bits() >> IPV6_CLIENT_BITS << IPV6_CLIENT_BITS;
                    Self::Address(Ipv6Addr::from_bits(network).into())
                }
                address => Self::Address(address),
            },
            Self::Local => Self::Local,
        }
    }
}

/// How a client was authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// By a password.
    Password,
    /// By a bearer token.
    Token,
    /// By a public key of SSH.
    PublicKey,
    /// By a TLS certificate.
    Certificate,
    /// By the kernel, for a Unix socket.
    UnixPeer,
    /// Not at all: no user is configured.
    Anonymous,
}

impl Method {
    /// The name in the audit log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::Token => "token",
            Self::PublicKey => "public-key",
            Self::Certificate => "certificate",
            Self::UnixPeer => "unix-peer",
            Self::Anonymous => "anonymous",
        }
    }
}

/// An authenticated client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The user name: `user-name` of ietf-netconf-acm.
    pub user: String,
    /// How it was proven.
    pub method: Method,
    /// Whether the session is a recovery session, which access control permits everything (RFC 8341 §3.2.3): root of
    /// this machine, over a Unix socket.
    pub is_recovery: bool,
    /// Whether the client may only read, whatever its user may do.
    pub is_read_only: bool,
    /// Groups that the transport supplies (RFC 8341 §3.4.1): those of the operating system, for its users.
    pub groups: Vec<String>,
}

impl Identity {
    pub(super) fn new(user: impl Into<String>, method: Method) -> Self {
        Self {
            user: user.into(),
            method,
            is_recovery: false,
            is_read_only: false,
            groups: Vec::new(),
        }
    }
}
