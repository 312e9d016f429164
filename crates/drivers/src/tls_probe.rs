//! Whether a server speaks TLS where it was not asked for it, or does not where it was. Neither understands
//! the other, and either may just be silent: so it is asked in the other way.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use espalier_keyspace::Error;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use crate::authority::Authority;
use crate::url::refusal;

/// How soon a server shows what it speaks.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// The types of the TLS records that a server may begin with: an alert, a part of the handshake.
/// RFC 8446 §5.1
const RECORDS: [u8; 2] = [21, 22];

/// How servers are asked to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Plain,
    Tls,
}

impl Protocol {
    /// By whether there are options for TLS.
    pub(crate) fn of_options<T>(tls: Option<&T>) -> Self {
        tls.map_or(Self::Plain, |_| Self::Tls)
    }
}

/// What a driver says and advises.
pub(crate) struct ProbeOptions {
    /// What a server without TLS answers at once.
    pub(crate) plain_request: &'static [u8],
    /// What to do where a server does not speak TLS.
    pub(crate) advice_without_tls: &'static str,
    /// What to do where it speaks nothing else.
    pub(crate) advice_with_tls: &'static str,
}

/// How the servers of a driver are spoken to.
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

    /// A server has answered, so that the matter is settled.
    pub(crate) fn set_confirmed(&self) {
        self.is_confirmed.store(true, Ordering::Relaxed);
    }

    /// Whether a server may still turn out to speak in the other way.
    pub(crate) fn is_undecided(&self) -> bool {
        !self.is_confirmed.load(Ordering::Relaxed)
    }

    /// How long one attempt to connect may take, of all the time that there is.
    #[cfg(feature = "redis")]
    pub(crate) fn connect_timeout(&self, timeout: Duration) -> Duration {
        match self.requested {
            // A server that does not know it waits for the rest.
            Protocol::Tls if self.is_undecided() => timeout.min(PROBE_TIMEOUT * 2),
            _ => timeout,
        }
    }

    /// Why nobody has answered, where a server speaks in the other way.
    pub(crate) fn mismatch(&self) -> Option<Error> {
        let mut hosts = self.servers.hosts.iter();
        if !self.is_undecided() || !hosts.any(|(host, port)| self.is_other(host, *port)) {
            return None;
        }
        let place = self.servers.shown();
        let problem = match self.requested {
            Protocol::Plain => format!("{place} speaks TLS; {}", self.options.advice_with_tls),
            Protocol::Tls => format!(
                "{place} does not speak TLS; {}",
                self.options.advice_without_tls
            ),
        };
        Some(refusal(problem))
    }

    fn is_other(&self, host: &str, port: u16) -> bool {
        let is_record = |first: u8| RECORDS.contains(&first);
        match self.requested {
            Protocol::Plain => client_hello(host)
                .and_then(|hello| answer(host, port, &hello))
                .is_some_and(is_record),
            Protocol::Tls => answer(host, port, self.options.plain_request)
                .is_some_and(|first| !is_record(first)),
        }
    }
}

/// The first byte that a server answers.
fn answer(host: &str, port: u16, request: &[u8]) -> Option<u8> {
    let address = (host, port).to_socket_addrs().ok()?.next()?;
    let mut stream = TcpStream::connect_timeout(&address, PROBE_TIMEOUT).ok()?;
    stream.set_read_timeout(Some(PROBE_TIMEOUT)).ok()?;
    stream.write_all(request).ok()?;
    let mut first = [0];
    stream.read_exact(&mut first).ok()?;
    Some(first[0])
}

/// What a client begins with that speaks TLS.
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
