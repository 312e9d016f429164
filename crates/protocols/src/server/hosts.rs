//! The hosts that requests may name.
//!
//! A page of another site can make a browser send requests to any address that the browser can reach,
//! including the loopback interface. With DNS rebinding, they look like requests to the site of the page,
//! which can then read the responses. Such a request names the host of that site, so a server that accepts
//! only its own names is protected.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use http::uri::Authority;
use rustls::server::ParsedCertificate;
use rustls_pki_types::{CertificateDer, ServerName};

// Every page in a browser can reach a server on localhost: docs/decisions/0051.
/// The hosts that a server accepts: the loopback names and addresses, and added ones.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    named: Vec<Pattern>,
    addresses: Vec<IpAddr>,
    certificate: Option<CertificateDer<'static>>,
}

/// The text is not a valid host.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "“{0}” is not a valid host: use a name, an address, or *.NAME for all subdomains of a name, without a port"
)]
pub struct InvalidHost(String);

/// A host that the operator named.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    Exact(Host),
    /// All names with this suffix, which starts with a dot.
    Suffix(String),
}

/// A host in normalized form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    Address(IpAddr),
    Name(String),
}

/// A host and a port, as in `Host` and `Origin`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostPort {
    pub(super) host: Host,
    pub(super) port: Option<u16>,
}

impl Hosts {
    /// Adds a host: a name, an address, or `*.NAME`.
    pub fn with(mut self, text: &str) -> Result<Self, InvalidHost> {
        let bad = || InvalidHost(text.to_owned());
        let pattern = match text.strip_prefix("*.") {
            Some(name) => match Host::parse(name).ok_or_else(bad)? {
                Host::Name(name) => Pattern::Suffix(format!(".{name}")),
                Host::Address(_) => return Err(bad()),
            },
            None => Pattern::Exact(Host::parse(text).ok_or_else(bad)?),
        };
        self.named.push(pattern);
        Ok(self)
    }

    /// Adds an address that the server listens on. A wildcard address is ignored.
    #[must_use]
    pub fn with_address(mut self, address: IpAddr) -> Self {
        if !address.is_unspecified() {
            self.addresses.push(address.to_canonical());
        }
        self
    }

    /// Adds all names and addresses of a certificate.
    #[must_use]
    pub fn with_certificate(mut self, certificate: CertificateDer<'static>) -> Self {
        self.certificate = Some(certificate);
        self
    }

    /// Whether the server accepts a host. `local` is the server address that the client connected to.
    pub(super) fn allows(&self, host: &Host, local: Option<IpAddr>) -> bool {
        let is_own = match host {
            Host::Address(address) => {
                address.is_loopback() || local == Some(*address) || self.addresses.contains(address)
            }
            Host::Name(name) => name == "localhost" || name.ends_with(".localhost"),
        };
        is_own || self.is_named(host) || self.is_certified(host)
    }

    /// Whether the operator named a host.
    pub(super) fn is_named(&self, host: &Host) -> bool {
        self.named.iter().any(|pattern| match (pattern, host) {
            (Pattern::Exact(known), host) => known == host,
            (Pattern::Suffix(suffix), Host::Name(name)) => name.ends_with(suffix),
            (Pattern::Suffix(_), Host::Address(_)) => false,
        })
    }

    fn is_certified(&self, host: &Host) -> bool {
        let certificate = self.certificate.as_ref();
        let parsed = certificate.and_then(|der| ParsedCertificate::try_from(der).ok());
        let name = match host {
            Host::Address(address) => Some(ServerName::from(*address)),
            Host::Name(name) => ServerName::try_from(name.as_str()).ok(),
        };
        match (parsed, name) {
            (Some(parsed), Some(name)) => {
                rustls::client::verify_server_name(&parsed, &name).is_ok()
            }
            _ => false,
        }
    }
}

impl Host {
    /// Parses a name or address without a port. An IPv6 address may be in brackets.
    fn parse(text: &str) -> Option<Self> {
        if let Some(address) = text.strip_prefix('[') {
            let address: Ipv6Addr = address.strip_suffix(']')?.parse().ok()?;
            return Some(Self::Address(IpAddr::from(address).to_canonical()));
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Some(Self::Address(address.to_canonical()));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        // Fewer characters than RFC 3986 allows: DNS names have no others, and a shell may interpret them.
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let is_name = !name.is_empty() && name.bytes().all(is_name);
        is_name.then(|| Self::Name(name.to_ascii_lowercase()))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Name(name) => f.write_str(name),
        }
    }
}

impl HostPort {
    /// Parses the `uri-host [":" port]` of RFC 9110 §7.2. User information is rejected.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let authority: Authority = text.parse().ok()?;
        if authority.as_str().contains('@') {
            return None;
        }
        let host = Host::parse(authority.host())?;
        let rest = text.get(authority.host().len()..)?;
        let port = match rest.strip_prefix(':') {
            None if rest.is_empty() => None,
            Some("") => None,
            Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(port.parse().ok()?)
            }
            _ => return None,
        };
        Some(Self { host, port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_authorities_are_parsed_and_others_rejected() {
        let table = [
            ("LocalHost.", "localhost", None),
            ("localhost:", "localhost", None),
            ("a.example:8443", "a.example", Some(8443)),
            ("127.0.0.1:80", "127.0.0.1", Some(80)),
            ("[::1]:80", "::1", Some(80)),
            ("[0:0:0:0:0:0:0:1]", "::1", None),
            ("[::ffff:127.0.0.1]:8080", "127.0.0.1", Some(8080)),
        ];
        for (text, host, port) in table {
            let host_port = HostPort::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (host_port.host.to_string().as_str(), host_port.port),
                (host, port)
            );
        }
        for text in [
            "",
            ":80",
            "a b",
            "user@localhost",
            "localhost:x",
            "localhost:+1",
            "localhost:99999",
            "[::1",
            "a/b",
            "a,b:1:2",
            "[v1.x]",
            "$(id)",
            "a%41",
        ] {
            assert_eq!(HostPort::parse(text), None, "{text}");
        }
    }

    #[test]
    fn loopback_and_added_hosts_are_allowed() {
        let made = rcgen::generate_simple_self_signed(vec![
            "cert.example".to_owned(),
            "*.wild.example".to_owned(),
            "192.0.2.7".to_owned(),
        ]);
        let hosts = Hosts::default().with("named.example").expect("a name");
        let hosts = hosts.with("*.below.example").expect("a pattern");
        let hosts = hosts.with_address("192.0.2.1".parse().expect("an address"));
        let hosts = hosts.with_address("0.0.0.0".parse().expect("an address"));
        let hosts = hosts.with_certificate(made.expect("a certificate").cert.der().clone());
        let local = "192.0.2.9".parse().ok();
        let table = [
            ("localhost", true),
            ("x.localhost", true),
            ("127.8.8.8", true),
            ("[::1]", true),
            ("named.example", true),
            ("NAMED.example.", true),
            ("x.named.example", false),
            ("x.below.example", true),
            ("below.example", false),
            ("xbelow.example", false),
            ("192.0.2.1", true),
            ("192.0.2.9", true),
            ("192.0.2.2", false),
            ("0.0.0.0", false),
            ("cert.example", true),
            ("x.wild.example", true),
            ("192.0.2.7", true),
            ("evil.example", false),
            ("localhost.evil.example", false),
        ];
        for (text, expected) in table {
            let host_port = HostPort::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(hosts.allows(&host_port.host, local), expected, "{text}");
        }
        for text in ["", "a:80", "*.", "*.192.0.2.1", "a b", "http://a", "*"] {
            assert!(Hosts::default().with(text).is_err(), "{text}");
        }
    }
}
