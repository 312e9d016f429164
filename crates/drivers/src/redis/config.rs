//! The options of the Redis driver.

use std::time::Duration;

use espalier_keyspace::Result;

use crate::credentials::{Tls, password};
use crate::durability::Durability;
use crate::url::{Url, milliseconds, number, refusal, unknown_option};
use crate::url_authority::Authority;

/// The name of the driver, and the scheme of its URLs.
pub const NAME: &str = "redis";

/// The scheme of its URLs with TLS.
pub const NAME_TLS: &str = "rediss";

/// The default timeout of a call, including its retries: ten seconds.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// The default for the bytes of old values that are kept for snapshots: 64 MiB.
pub const UNDO_BYTES: u64 = 64 << 20;

/// The default port.
const PORT: u16 = 6379;

/// The options of the Redis driver.
#[derive(Clone)]
pub struct Config {
    pub(super) servers: Authority,
    /// The number of the database.
    pub(super) database: i64,
    /// The prefix of all Redis keys.
    pub(super) prefix: String,
    pub(super) durability: Durability,
    pub(super) timeout: Duration,
    pub(super) undo_bytes: u64,
    /// `Some` for `rediss:`.
    pub(super) tls: Option<Tls>,
}

impl Config {
    /// The options of a URL such as `redis://host:6379/0?prefix=espalier`.
    pub(crate) fn from_url(url: &Url<'_>) -> Result<Self> {
        let servers = Authority::parse(url, PORT)?;
        let database = match servers.path.as_str() {
            "" => 0,
            path => number("the database", path)?,
        };
        if servers.hosts.len() > 1 && database != 0 {
            let message =
                format!("several hosts mean a Cluster, which has no database {database}; write /0");
            return Err(refusal(message));
        }
        let mut config = Self {
            servers,
            database,
            prefix: "espalier".to_owned(),
            durability: Durability::default(),
            timeout: TIMEOUT,
            undo_bytes: UNDO_BYTES,
            tls: (url.scheme == super::NAME_TLS).then(Tls::default),
        };
        for (option, value) in url.options() {
            config.set(url.scheme, option, value)?;
        }
        Ok(config)
    }

    /// The URL with the database and the prefix, but without user, password and other options.
    pub(super) fn resolved_url(&self, scheme: &str) -> String {
        let (servers, database) = (self.servers.shown(), self.database);
        format!("{scheme}://{servers}/{database}?prefix={}", self.prefix)
    }

    fn set(&mut self, scheme: &str, option: &str, value: &str) -> Result<()> {
        match (option, &mut self.tls) {
            ("prefix", _) => self.prefix = prefix(value)?,
            ("password_file", _) => self.servers.password = Some(password(value)?),
            ("durability", _) => self.durability = Durability::parse(value)?,
            ("timeout_ms", _) => self.timeout = milliseconds(option, value)?,
            ("undo_bytes", _) => self.undo_bytes = number(option, value)?,
            ("ca", Some(tls)) => tls.ca = Some(value.into()),
            ("cert", Some(tls)) => tls.certificate = Some(value.into()),
            ("key", Some(tls)) => tls.key = Some(value.into()),
            _ => {
                let known = "prefix, durability, password_file, timeout_ms, undo_bytes, \
                             and for rediss: ca, cert and key";
                return unknown_option(scheme, option, known);
            }
        }
        Ok(())
    }
}

fn prefix(value: &str) -> Result<String> {
    if value.is_empty() || value.contains(['{', '}']) {
        let message = format!("prefix is {value:?}; it may be any text without braces");
        return Err(refusal(message));
    }
    Ok(value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(url: &str) -> Result<Config> {
        Config::from_url(&Url::parse(url).expect("a scheme"))
    }

    #[test]
    fn options_of_a_url() {
        let plain = config("redis://host").expect("no options");
        assert_eq!((plain.database, plain.prefix.as_str()), (0, "espalier"));
        assert_eq!(plain.durability, Durability::Durable);
        let full = "rediss://u:p@h:1/3?prefix=x&durability=relaxed&timeout_ms=5&ca=f";
        let full = config(full).expect("options");
        assert_eq!((full.database, full.timeout.as_millis()), (3, 5));
        assert!(full.tls.is_some_and(|tls| tls.ca.is_some()));
        for wrong in [
            "redis:host",
            "redis://h/x",
            "redis://h:1,h:2/3",
            "redis://h?prefix=",
            "redis://h?prefix=a{b",
            "redis://h?durability=perhaps",
            "redis://h?timeout_ms=soon",
            "redis://h?ca=file",
            "redis://h?pool=3",
        ] {
            assert!(config(wrong).is_err(), "{wrong}");
        }
    }
}
