//! How `serve` listens: address, TLS, access and limits.

use std::io;
use std::net::{Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use espalier_protocols::intake::IntakeConfig;
use espalier_protocols::server;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, lookup_host};

use crate::commands::serve::{exposure, self_signed};
use crate::settings::{DEFAULT_LISTEN, Settings};
use espalier_terminal::{Failure, Result};

/// File descriptors reserved for everything but connections.
const FILES_RESERVED: u64 = 256;

/// Options of listening.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Listening")]
pub struct ListenOptions {
    /// The address to listen on; port 0 selects a free one. An address other than loopback requires TLS, and users
    /// (`espalier user add`) or --client-ca [env: ESPALIER_LISTEN] [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,

    /// The certificate chain, PEM: serve over TLS [env: ESPALIER_TLS_CERT]
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<PathBuf>,

    /// The key of the certificate, PEM [env: ESPALIER_TLS_KEY]
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,

    /// Serve over TLS with a certificate that no authority has signed: cert.pem and key.pem in this folder, which
    /// are created at the first start. For trying; clients trust it with --server-ca DIR/cert.pem
    /// [env: ESPALIER_TLS_SELF_SIGNED]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["tls_cert", "tls_key"])]
    tls_self_signed: Option<PathBuf>,

    /// Also serve on this Unix socket, where the user of the client's process is its user, and root may do
    /// everything [env: ESPALIER_UNIX_SOCKET]
    #[arg(long, value_name = "FILE")]
    unix_socket: Option<PathBuf>,

    /// The permissions of the socket, octal [env: ESPALIER_UNIX_SOCKET_MODE] [default: 600]
    #[arg(long, value_name = "MODE")]
    unix_socket_mode: Option<String>,

    /// The authorities of client certificates, PEM: every client must have one. Its user is the common name of its
    /// certificate, or is mapped by `cert-maps` of espalier-system. Needs TLS [env: ESPALIER_CLIENT_CA]
    #[arg(long, value_name = "FILE")]
    client_ca: Option<PathBuf>,

    /// Verify passwords of users that are not in ietf-system with this PAM service, configured in /etc/pam.d. These
    /// users have the groups of the operating system. Needs a build with the feature `pam` [env: ESPALIER_PAM_SERVICE]
    #[arg(long, value_name = "NAME")]
    pam_service: Option<String>,

    /// Serve every client that reaches the address, also beyond loopback
    /// [env: ESPALIER_INSECURE_NO_AUTHENTICATION=true]
    #[arg(long)]
    insecure_no_authentication: bool,

    /// Let users log in without TLS, also beyond loopback [env: ESPALIER_INSECURE_NO_TLS=true]
    #[arg(long)]
    insecure_no_tls: bool,

    /// A host name of the server, in addition to the loopback names, the listening address and the names
    /// of the certificate: a name, an address, or *.NAME for all its subdomains. Web pages of this host
    /// may send requests too. May be repeated [env: ESPALIER_ALLOWED_HOST, separated by `,`]
    #[arg(long, value_name = "HOST")]
    allowed_host: Vec<String>,

    /// The maximum number of connections. Beyond it, the connection that is idle longest is closed
    /// [env: ESPALIER_CONNECTIONS_MAX] [default: 4096]
    #[arg(long, value_name = "COUNT")]
    connections_max: Option<usize>,

    /// How long a connection may stay open without a complete request head
    /// [env: ESPALIER_HEADER_TIMEOUT] [default: 60]
    #[arg(long, value_name = "SECONDS")]
    header_timeout: Option<u64>,

    /// How long the server waits for the next byte of a body [env: ESPALIER_BODY_PAUSE]
    /// [default: 30]
    #[arg(long, value_name = "SECONDS")]
    body_pause: Option<u64>,

    /// Append the records of the audit log to this file too, as JSON lines; it may be renamed at any time
    /// [env: ESPALIER_AUDIT_FILE]
    #[arg(long, value_name = "FILE")]
    audit_file: Option<PathBuf>,

    /// Send the records of the audit log to syslog too: `unix:/dev/log`, or `udp:HOST:PORT`
    /// [env: ESPALIER_AUDIT_SYSLOG]
    #[arg(long, value_name = "ADDRESS")]
    audit_syslog: Option<String>,

    /// The folder for bodies over 1 MiB, in files without names [env: ESPALIER_SPILL_DIR]
    /// [default: TMPDIR, else /var/tmp]
    #[arg(long, value_name = "DIR")]
    spill_dir: Option<PathBuf>,

    /// The maximum size of all bodies there, in bytes [env: ESPALIER_SPILL_MAX]
    /// [default: 68719476736]
    #[arg(long, value_name = "BYTES")]
    spill_max: Option<u64>,
}

impl ListenOptions {
    /// The options as settings, merged with `others`.
    pub fn over(&self, others: Settings) -> Settings {
        Settings {
            listen: self.listen.clone(),
            tls_cert: self.tls_cert.clone(),
            tls_key: self.tls_key.clone(),
            client_ca: self.client_ca.clone(),
            tls_self_signed: self.tls_self_signed.clone(),
            unix_socket: self.unix_socket.clone(),
            unix_socket_mode: self.unix_socket_mode.clone(),
            pam_service: self.pam_service.clone(),
            insecure_no_authentication: self.insecure_no_authentication.then_some(true),
            insecure_no_tls: self.insecure_no_tls.then_some(true),
            allowed_host: self.allowed_host.clone(),
            connections_max: self.connections_max,
            header_timeout: self.header_timeout,
            body_pause: self.body_pause,
            audit_file: self.audit_file.clone(),
            audit_syslog: self.audit_syslog.clone(),
            spill_dir: self.spill_dir.clone(),
            spill_max: self.spill_max,
            ..others
        }
    }
}

/// The limits of request bodies. Fails if no file can be created in the given `--spill-dir`.
pub fn intake_config(settings: &Settings) -> Result<IntakeConfig> {
    let usual = IntakeConfig::default();
    let config = IntakeConfig {
        spill_dir: settings.spill_dir.clone().unwrap_or(usual.spill_dir),
        spill_bytes_max: settings.spill_max.unwrap_or(usual.spill_bytes_max),
        ..usual
    };
    if settings.spill_dir.is_some() {
        let checked = config.check_spill_dir();
        checked.map_err(|error| Failure::usage(error.to_string()))?;
    }
    Ok(config)
}

/// The configuration of the server.
pub fn server_config(settings: &Settings) -> Result<server::Config> {
    let mut hosts = server::Hosts::default();
    for host in &settings.allowed_host {
        hosts = hosts
            .with(host)
            .map_err(|error| Failure::usage(format!("--allowed-host: {error}")))?;
    }
    let usual = server::Limits::default();
    let seconds = |given: Option<u64>, usual| given.map_or(usual, Duration::from_secs);
    let connections_max = settings.connections_max.unwrap_or(usual.connections_max);
    Ok(server::Config {
        tls: tls(settings)?,
        hosts,
        limits: server::Limits {
            connections_max: limited_by_open_files(connections_max),
            header_timeout: seconds(settings.header_timeout, usual.header_timeout),
            body_pause_max: seconds(settings.body_pause, usual.body_pause_max),
            ..usual
        },
        ..server::Config::default()
    })
}

/// The scheme and authority of URLs of this server: the first host that requests may name, else the address.
pub fn base_url(settings: &Settings, address: SocketAddr) -> String {
    let scheme = match has_tls(settings) {
        true => "https",
        false => "http",
    };
    let mut hosts = settings.allowed_host.iter();
    let host = match hosts.find(|host| !host.starts_with("*.")) {
        Some(host) => host.clone(),
        None if address.ip().is_unspecified() => "localhost".to_owned(),
        None => address.ip().to_string(),
    };
    match host.parse::<Ipv6Addr>() {
        Ok(host) => format!("{scheme}://[{host}]:{}", address.port()),
        Err(_) => format!("{scheme}://{host}:{}", address.port()),
    }
}

/// Whether the settings configure TLS.
pub fn has_tls(settings: &Settings) -> bool {
    settings.tls_cert.is_some() || settings.tls_self_signed.is_some()
}

/// The certificate and the key of the server.
fn certificate_and_key(settings: &Settings) -> Result<Option<(PathBuf, PathBuf)>> {
    let given = (settings.tls_cert.clone(), settings.tls_key.clone());
    match (&settings.tls_self_signed, given) {
        (Some(folder), (None, None)) => self_signed::files(folder, settings).map(Some),
        (_, (Some(certificate), Some(key))) => Ok(Some((certificate, key))),
        (_, (None, None)) => Ok(None),
        _ => Err(Failure::usage("--tls-cert and --tls-key go together")),
    }
}

/// The TLS of HTTP.
pub fn tls(settings: &Settings) -> Result<Option<server::Tls>> {
    match certificate_and_key(settings)? {
        Some(files) => tls_of(files, settings.client_ca.clone()).map(Some),
        None if settings.client_ca.is_none() => Ok(None),
        None => Err(needs_tls("--client-ca")),
    }
}

/// The TLS of NETCONF, whose clients must have certificates.
pub fn netconf_tls(settings: &Settings) -> Result<server::Tls> {
    let authorities = settings.netconf_client_ca.as_ref();
    let Some(authorities) = authorities.or(settings.client_ca.as_ref()) else {
        return Err(
            Failure::usage("NETCONF over TLS needs the authorities of its clients")
                .hint("add --netconf-client-ca FILE"),
        );
    };
    match certificate_and_key(settings)? {
        Some(files) => tls_of(files, Some(authorities.clone())),
        None => Err(needs_tls("NETCONF over TLS")),
    }
}

fn needs_tls(what: &str) -> Failure {
    Failure::usage(format!("{what} needs TLS"))
        .hint("add --tls-cert FILE and --tls-key FILE, or --tls-self-signed DIR")
}

fn tls_of(
    (certificate, key): (PathBuf, PathBuf),
    client_authorities: Option<PathBuf>,
) -> Result<server::Tls> {
    let config = server::tls_config(&server::TlsFiles {
        certificate,
        key,
        client_authorities,
    });
    config.map_err(|error| Failure::usage(error.to_string()))
}

/// Listens on the address of the settings. Fails for an address beyond loopback unless clients are authenticated or
/// need not be.
pub async fn bind(settings: &Settings) -> Result<TcpListener> {
    let address = settings.listen.as_deref().unwrap_or(DEFAULT_LISTEN);
    let failed = |error: io::Error| {
        Failure::data(format!("cannot listen on {address}: {error}"))
            .hint("choose another address with --listen ADDRESS:PORT; port 0 selects a free one")
    };
    let addresses: Vec<SocketAddr> = lookup_host(address).await.map_err(failed)?.collect();
    exposure::check(settings, address, &addresses)?;
    TcpListener::bind(&addresses[..]).await.map_err(failed)
}

/// Limits the connections to the available file descriptors, after raising the limit of this process as far as the
/// system allows.
fn limited_by_open_files(connections_max: usize) -> usize {
    let limits = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limits.maximum,
        maximum: limits.maximum,
    };
    let limit = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limits.maximum,
        Err(_) => limits.current,
    };
    let Some(limit) = limit else {
        return connections_max;
    };
    let most = limit.saturating_sub(FILES_RESERVED).max(1);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    if most < connections_max {
        tracing::warn!(
            "there are file descriptors for {most} connections only; raise the limit of open files (ulimit -n) for {connections_max}"
        );
    }
    connections_max.min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_a_host_that_requests_may_name() {
        let url = |hosts: &[&str], address: &str| {
            let settings = Settings {
                allowed_host: hosts.iter().map(ToString::to_string).collect(),
                ..Settings::default()
            };
            base_url(&settings, address.parse().expect("an address"))
        };
        assert_eq!(url(&[], "127.0.0.1:80"), "http://127.0.0.1:80");
        assert_eq!(url(&[], "[::1]:80"), "http://[::1]:80");
        assert_eq!(url(&[], "0.0.0.0:80"), "http://localhost:80");
        let hosts = ["*.below.example", "named.example"];
        assert_eq!(url(&hosts, "0.0.0.0:80"), "http://named.example:80");
    }
}
