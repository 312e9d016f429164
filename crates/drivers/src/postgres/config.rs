//! The options of the PostgreSQL driver.

use std::path::PathBuf;
use std::time::Duration;

use espalier_keyspace::Result;
use tokio_postgres::config::{Host, SslMode};

use crate::credentials::{self, Identity};
use crate::durability::Durability;
use crate::readable_columns;
use crate::url::{Url, refusal, unknown_option};

/// The name of the driver, and the scheme of its URLs.
pub const NAME: &str = "postgres";

/// An alternative scheme of its URLs.
pub const NAME_LONG: &str = "postgresql";

/// The form of a URL, for messages.
pub(super) const URL_FORM: &str = "postgres://USER:PASSWORD@HOST:PORT/DATABASE";

/// The default schema.
const SCHEMA: &str = "espalier";

/// The most bytes of a name in PostgreSQL, which truncates longer ones.
pub(super) const NAME_BYTES_MAX: usize = 63;

/// The default limit of open snapshots. A server accepts 100 connections by default, and there may be several
/// processes.
pub const SNAPSHOTS_MAX: usize = 64;

/// The default timeout for connecting.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The default timeout of a statement, including the wait for locks.
pub const STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);

/// The options of a URL, for messages.
const OPTIONS: &str = "schema, durability, readable, snapshots, connect_timeout, statement_timeout, sslmode, \
     sslrootcert, sslcert, sslkey, password_file, application_name, options, target_session_attrs, load_balance_hosts, hostaddr, \
     tcp_user_timeout, keepalives, keepalives_idle, keepalives_interval and keepalives_retries";

/// How the connection is encrypted and the server verified: the values of libpq's `sslmode`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Security {
    /// Not encrypted.
    Disable,
    /// Encrypted if the server supports it. The server is not verified.
    #[default]
    Prefer,
    /// Encrypted. The server is not verified.
    Require,
    /// Encrypted, and an authority in this file has signed the certificate of the server.
    VerifyAuthority(PathBuf),
    /// The same, and the certificate is for the host.
    VerifyHost(PathBuf),
}

/// The options of the PostgreSQL driver.
#[derive(Clone, Debug)]
pub struct Config {
    /// The server's address, the user and the password.
    pub server: tokio_postgres::Config,
    /// The schema with the tables. It is created if it does not exist.
    pub schema: String,
    /// When an acknowledged commit is on disk.
    pub durability: Durability,
    /// Whether there are readable columns and a view, to be queried with SQL. `None` leaves the schema as it is.
    pub readable: Option<bool>,
    /// How the connection is encrypted and the server verified.
    pub security: Security,
    /// The client certificate, if the server requires one.
    pub identity: Option<Identity>,
    /// The most open snapshots. Each uses a connection.
    pub snapshots_max: usize,
    /// The timeout of a statement, including the wait for locks.
    pub statement_timeout: Duration,
}

impl Config {
    /// The options of a URL such as `postgres://user:password@host:5432/database?schema=x`.
    pub(crate) fn from_url(url: &Url<'_>) -> Result<Self> {
        let mut kept = Vec::new();
        let mut config = Self {
            server: tokio_postgres::Config::new(),
            schema: SCHEMA.into(),
            durability: Durability::default(),
            readable: None,
            security: Security::default(),
            identity: None,
            snapshots_max: SNAPSHOTS_MAX,
            statement_timeout: STATEMENT_TIMEOUT,
        };
        let (mut mode, mut authorities) = ("prefer", None);
        let (mut certificate, mut key) = (None, None);
        let mut password = None;
        for (option, value) in url.options() {
            match option {
                "schema" => config.schema = schema(value)?,
                "durability" => config.durability = Durability::parse(value)?,
                "readable" => config.readable = Some(readable_columns::parse(value)?),
                "snapshots" => config.snapshots_max = positive(option, value)?,
                "statement_timeout" => {
                    config.statement_timeout = Duration::from_secs(positive(option, value)?);
                }
                "sslmode" => mode = value,
                "sslrootcert" => authorities = Some(PathBuf::from(value)),
                "sslcert" => certificate = Some(PathBuf::from(value)),
                "password_file" => password = Some(credentials::password(value)?),
                "sslkey" => key = Some(PathBuf::from(value)),
                "connect_timeout" => {
                    positive::<u32>(option, value)?;
                    kept.push(format!("{option}={value}"));
                }
                "application_name"
                | "options"
                | "target_session_attrs"
                | "load_balance_hosts"
                | "hostaddr"
                | "tcp_user_timeout"
                | "keepalives"
                | "keepalives_idle"
                | "keepalives_interval"
                | "keepalives_retries" => {
                    kept.push(format!("{option}={value}"));
                }
                _ => return unknown_option(url.scheme, option, OPTIONS),
            }
        }
        config.security = security(mode, authorities)?;
        let options = format!("{}: has sslcert and sslkey", url.scheme);
        config.identity = Identity::of(certificate, key, &options)?;
        config.server = server(url, &kept.join("&"))?;
        if let Some(password) = password {
            config.server.password(password);
        }
        config.server.ssl_mode(match config.security {
            Security::Disable => SslMode::Disable,
            Security::Prefer => SslMode::Prefer,
            _ => SslMode::Require,
        });
        Ok(config)
    }

    /// The URL with the database and the schema, but without user, password and other options.
    pub(super) fn resolved_url(&self) -> String {
        let user = self.server.get_user().unwrap_or_default();
        let database = self.server.get_dbname().unwrap_or(user);
        format!(
            "{NAME}://{}/{database}?schema={}",
            self.address(),
            self.schema
        )
    }

    /// The hosts and ports of the server, for messages.
    pub(super) fn address(&self) -> String {
        let ports = self.server.get_ports();
        let hosts = self.server.get_hosts().iter().enumerate();
        let addresses: Vec<_> = hosts
            .map(|(at, host)| {
                let port = ports.get(at).or(ports.first()).copied().unwrap_or(5432);
                match host {
                    Host::Tcp(name) => format!("{name}:{port}"),
                    Host::Unix(path) => format!("{} (port {port})", path.display()),
                }
            })
            .collect();
        addresses.join(", ")
    }
}

/// Parses the part of the URL that `tokio-postgres` supports.
fn server(url: &Url<'_>, options: &str) -> Result<tokio_postgres::Config> {
    // The error names the problem and does not contain the URL, which has a password.
    let parsed = format!("postgres:{}?{options}", url.place).parse::<tokio_postgres::Config>();
    let mut server = parsed.map_err(|error| {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        let cause = cause.unwrap_or_else(|| error.to_string());
        refusal(format!(
            "the URL cannot be read ({cause}); write {URL_FORM}"
        ))
    })?;
    // Everything after the first `@` is parsed as the host.
    let has_user = |host: &Host| matches!(host, Host::Tcp(name) if name.contains('@'));
    if server.get_hosts().iter().any(has_user) {
        let message = format!("an '@' in a user or password is written %40; write {URL_FORM}");
        return Err(refusal(message));
    }
    if server.get_hosts().is_empty() && server.get_hostaddrs().is_empty() {
        return Err(refusal(format!(
            "the URL names no server; write {URL_FORM}"
        )));
    }
    if server.get_connect_timeout().is_none() {
        server.connect_timeout(CONNECT_TIMEOUT);
    }
    if server.get_application_name().is_none() {
        server.application_name("espalier");
    }
    Ok(server)
}

fn schema(value: &str) -> Result<String> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let starts_well = value
        .bytes()
        .next()
        .is_some_and(|byte| !byte.is_ascii_digit());
    let is_reserved = value.starts_with("pg_");
    if value.len() > NAME_BYTES_MAX || !starts_well || is_reserved || !value.bytes().all(is_plain) {
        return Err(refusal(format!(
            "schema is {value:?}; it may have a to z, digits and _, at most {NAME_BYTES_MAX}, \
             not beginning with a digit or pg_"
        )));
    }
    Ok(value.into())
}

fn positive<N: std::str::FromStr + PartialOrd + From<u8>>(option: &str, value: &str) -> Result<N> {
    let number = value.parse().ok().filter(|number| *number >= N::from(1));
    number.ok_or_else(|| refusal(format!("{option} is {value:?}; it may be 1 or more")))
}

fn security(mode: &str, authorities: Option<PathBuf>) -> Result<Security> {
    let named = |authorities: Option<PathBuf>| {
        authorities.ok_or_else(|| {
            refusal(format!(
                "sslmode={mode} needs sslrootcert=FILE with the certificates that are trusted"
            ))
        })
    };
    match mode {
        "disable" => Ok(Security::Disable),
        "prefer" | "allow" => Ok(Security::Prefer),
        // Like libpq, this verifies the authority if a file is given.
        "require" => Ok(authorities.map_or(Security::Require, Security::VerifyAuthority)),
        "verify-ca" => named(authorities).map(Security::VerifyAuthority),
        "verify-full" => named(authorities).map(Security::VerifyHost),
        _ => Err(refusal(format!(
            "sslmode is {mode:?}; it may be disable, prefer, require, verify-ca or verify-full"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(url: &str) -> Result<Config> {
        Config::from_url(&Url::parse(url).expect("a scheme"))
    }

    #[test]
    fn options_of_a_url() {
        let plain = config("postgres://me:p%40ss@db.example/net").expect("a URL");
        assert_eq!(plain.schema, "espalier");
        assert_eq!(plain.server.get_password(), Some(&b"p@ss"[..]));
        assert_eq!(plain.server.get_dbname(), Some("net"));
        assert_eq!(plain.address(), "db.example:5432");
        let site = "postgres://db.example:5432/net?schema=espalier";
        assert_eq!(plain.resolved_url(), site);
        assert_eq!(plain.server.get_connect_timeout(), Some(&CONNECT_TIMEOUT));
        let full = config(
            "postgresql://me@[::1]:5433/net?schema=other&durability=relaxed&snapshots=7\
             &connect_timeout=3&statement_timeout=5&sslmode=verify-full&sslrootcert=/ca.pem\
             &sslcert=/me.pem&sslkey=/me.key",
        );
        let full = full.expect("options");
        assert_eq!(
            (full.schema.as_str(), full.durability, full.snapshots_max),
            ("other", Durability::Relaxed, 7)
        );
        assert_eq!(full.statement_timeout, Duration::from_secs(5));
        assert_eq!(full.security, Security::VerifyHost("/ca.pem".into()));
        let identity = full.identity.expect("a certificate and its key");
        assert_eq!(
            [identity.certificate, identity.key],
            ["/me.pem", "/me.key"].map(PathBuf::from)
        );
    }

    #[test]
    fn wrong_options_are_refused_without_the_password() {
        for wrong in [
            "postgres:",
            "postgres:///net",
            "postgres://me:secret@host:port/net",
            "postgres://me:secret@host/net?schema=Robert",
            "postgres://me:secret@host/net?schema=",
            "postgres://me:secret@host/net?schema=pg_x",
            "postgres://me:secret@host/net?snapshots=0",
            "postgres://me:secret@host/net?durability=perhaps",
            "postgres://me:secret@host/net?sslmode=verify-full",
            "postgres://me:secret@host/net?sslmode=maybe",
            "postgres://me:secret@host/net?sslcert=/me.pem",
            "postgres://me:secret@host/net?connect_timeout=soon",
            "postgres://me:secret@host/net?color=green",
        ] {
            let error = config(wrong).expect_err(wrong).to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
