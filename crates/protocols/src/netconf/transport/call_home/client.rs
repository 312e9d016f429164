//! Whom to call, and when: `call-home` of ietf-netconf-server.

use std::time::Duration;

use espalier_store::Timestamp;

/// The protocol of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// SSH: IANA assigned port 4334.
    Ssh,
    /// TLS: IANA assigned port 4335.
    Tls,
}

impl Protocol {
    /// Its name, as in URLs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ssh => "ssh",
            Self::Tls => "tls",
        }
    }

    /// The port of clients that listen for call home (RFC 8071 §5).
    pub fn default_port(self) -> u16 {
        match self {
            Self::Ssh => 4334,
            Self::Tls => 4335,
        }
    }
}

/// Where a client listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The protocol.
    pub protocol: Protocol,
    /// The host name or address.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// When there is a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionType {
    /// Always: a lost one is replaced at once.
    Persistent,
    /// From time to time.
    Periodic {
        /// The time from one connection to the next.
        period: Duration,
        /// A time at which there is a connection; others are before and after it by multiples of the period. By default,
        /// the start of the server.
        anchor: Option<Timestamp>,
        /// How long a session may transfer nothing before the connection is closed; without limit if absent.
        idle_timeout: Option<Duration>,
    },
}

/// Which endpoint of a client is tried first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StartWith {
    /// The first of the list.
    #[default]
    FirstListed,
    /// The one that had the last session; the first of the list if none had.
    LastConnected,
    /// Any.
    RandomSelection,
}

/// A client that the server calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallHomeClient {
    /// Its name, in the log and in the configuration of receivers.
    pub name: String,
    /// Where it listens: different addresses of one client, in the order of preference.
    pub endpoints: Vec<Endpoint>,
    /// When there is a connection.
    pub connection_type: ConnectionType,
    /// Which endpoint is tried first.
    pub start_with: StartWith,
    /// How long one try to connect may take.
    pub wait_max: Duration,
    /// How often an endpoint is tried before the next one is.
    pub attempts_max: u32,
    /// The pause after a failed try. It doubles each time that all endpoints have failed.
    pub pause_first: Duration,
    /// The longest pause.
    pub pause_max: Duration,
}

impl CallHomeClient {
    /// A client with a persistent connection and the defaults of ietf-netconf-server.
    pub fn new(name: impl Into<String>, endpoints: Vec<Endpoint>) -> Self {
        Self {
            name: name.into(),
            endpoints,
            connection_type: ConnectionType::Persistent,
            start_with: StartWith::FirstListed,
            wait_max: Duration::from_secs(5),
            attempts_max: 3,
            pause_first: Duration::from_secs(1),
            pause_max: Duration::from_secs(60),
        }
    }
}
