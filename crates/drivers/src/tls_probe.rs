//! Detects a mismatch between the requested protocol (plain or TLS) and that of the server. With the wrong
//! protocol a server may just not answer, so a probe connects with the other one.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use espalier_keyspace::Error;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use crate::url::refusal;
use crate::url_authority::Authority;

/// The time limit for a server to answer a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// The types of the first TLS record of a server: alert or handshake. RFC 8446 §5.1
const RECORDS: [u8; 2] = [21, 22];

/// The requested protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Plain,
    Tls,
}

impl Protocol {
    /// TLS if there are options for it.
    pub(crate) fn of_options<T>(tls: Option<&T>) -> Self {
        tls.map_or(Self::Plain, |_| Self::Tls)
    }
}

/// The driver-specific parts of a probe.
pub(crate) struct ProbeOptions {
    /// A request that a server without TLS answers immediately.
    pub(crate) plain_request: &'static [u8],
    /// The remedy if the server does not support TLS.
    pub(crate) advice_without_tls: &'static str,
    /// The remedy if the server requires TLS.
    pub(crate) advice_with_tls: &'static str,
}

/// The probe of a driver's servers.
pub(crate) struct TlsProbe {
    servers: Authority,
    requested: Protocol,
    options: ProbeOptions,
    is_confirmed: AtomicBool,
}

impl TlsProbe {
    pub(crate) fn new(servers: &Authority, requested: Protocol, options: ProbeOptions) -> Self {
        Self {
            servers: servers.clone(),
            requested,
            options,
            is_confirmed: AtomicBool::new(false),
        }
    }

    /// Records that a server has answered with the requested protocol.
    pub(crate) fn set_confirmed(&self) {
        self.is_confirmed.store(true, Ordering::Relaxed);
    }

    /// Whether no server has answered yet.
    pub(crate) fn is_undecided(&self) -> bool {
        !self.is_confirmed.load(Ordering::Relaxed)
    }

    /// The time limit of one connection attempt, at most `timeout`.
    pub(crate) fn connect_timeout(&self, timeout: Duration) -> Duration {
        match self.requested {
            // A server without TLS waits for more bytes.
            Protocol::Tls if self.is_undecided() => timeout.min(PROBE_TIMEOUT * 2),
            _ => timeout,
        }
    }

    /// The error if a server uses the other protocol.
    pub(crate) fn mismatch(&self) -> Option<Error> {
        let mut hosts = self.servers.hosts.iter();
        if !self.is_undecided() || !hosts.any(|(host, port)| self.uses_other_protocol(host, *port))
        {
            return None;
        }
        let servers = self.servers.shown();
        let problem = match self.requested {
            Protocol::Plain => format!("{servers} requires TLS; {}", self.options.advice_with_tls),
            Protocol::Tls => format!(
                "{servers} does not support TLS; {}",
                self.options.advice_without_tls
            ),
        };
        Some(refusal(problem))
    }

    fn uses_other_protocol(&self, host: &str, port: u16) -> bool {
        let is_record = |first: u8| RECORDS.contains(&first);
        match self.requested {
            Protocol::Plain => client_hello(host)
                .and_then(|hello| first_answer_byte(host, port, &hello))
                .is_some_and(is_record),
            Protocol::Tls => first_answer_byte(host, port, self.options.plain_request)
                .is_some_and(|first| !is_record(first)),
        }
    }
}

/// The first byte of the server's answer.
fn first_answer_byte(host: &str, port: u16, request: &[u8]) -> Option<u8> {
    let address = (host, port).to_socket_addrs().ok()?.next()?;
    let mut stream = TcpStream::connect_timeout(&address, PROBE_TIMEOUT).ok()?;
    stream.set_read_timeout(Some(PROBE_TIMEOUT)).ok()?;
    stream.write_all(request).ok()?;
    let mut first = [0];
    stream.read_exact(&mut first).ok()?;
    Some(first[0])
}

/// The first message of a TLS client.
fn client_hello(host: &str) -> Option<Vec<u8>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .ok()?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_owned()).ok()?;
    let mut connection = ClientConnection::new(Arc::new(config), name).ok()?;
    let mut hello = Vec::new();
    connection.write_tls(&mut hello).ok()?;
    Some(hello)
}
