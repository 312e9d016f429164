//! The options of the MongoDB driver.

use std::time::Duration;

use espalier_keyspace::Result;

use crate::credentials::{Tls, password};
use crate::durability::Durability;
use crate::readable_columns;
use crate::url::{Url, milliseconds, number, refusal, switch, unknown_option};
use crate::url_authority::Authority;

/// The name of the driver, and the scheme of its URLs.
pub const NAME: &str = "mongodb";

/// Default of `timeout_ms`, the time for which a call tries to reach the server: ten seconds.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// Default of `keep_ms`, how long replaced data is kept for snapshots, for a new key space: five minutes.
pub const KEEP: Duration = Duration::from_secs(300);

/// Default of `page_bytes`, the approximate size of a page: 16 KiB.
pub const PAGE_BYTES: usize = 16 << 10;

/// The smallest pages that have room for several child names, and the largest useful ones.
const PAGE_BYTES_MIN_MAX: (u64, u64) = (256, 1 << 20);

/// Default of `tail_bytes`, the bytes of commits that are not in the tree yet: 1 MiB.
pub const TAIL_BYTES: usize = 1 << 20;

/// The lower bound, and the most that a process should have to read to open the key space.
const TAIL_BYTES_MIN_MAX: (u64, u64) = (1 << 10, 16 << 20);

/// Bounds of `keep_ms`: a second and a year.
const KEEP_MS_MIN_MAX: (u64, u64) = (1000, 365 * 24 * 60 * 60 * 1000);

/// Default port.
const PORT: u16 = 27017;

/// Default database.
const DATABASE: &str = "espalier";

/// The options of the MongoDB driver.
#[derive(Clone)]
pub struct Config {
    pub(super) servers: Authority,
    pub(super) database: String,
    /// Prefix of the names of all collections.
    pub(super) prefix: String,
    pub(super) durability: Durability,
    /// Whether the key space has documents for human readers; `None` leaves it as it is.
    pub(super) readable: Option<bool>,
    pub(super) timeout: Duration,
    /// How long replaced data is kept; `None` uses the value of the key space.
    pub(super) keep: Option<Duration>,
    pub(super) page_bytes: usize,
    pub(super) tail_bytes: usize,
    /// The database that authenticates the user.
    pub(super) auth_source: Option<String>,
    pub(super) replica_set: Option<String>,
    /// Set for TLS.
    pub(super) tls: Option<Tls>,
}

impl Config {
    /// Parses the options of a URL such as `mongodb://host:27017/database?prefix=espalier`.
    pub(crate) fn from_url(url: &Url<'_>) -> Result<Self> {
        let servers = Authority::parse(url, PORT)?;
        let database = match servers.path.as_str() {
            "" => DATABASE.to_owned(),
            path => name(path, "the database")?,
        };
        let mut config = Self {
            servers,
            database,
            prefix: "espalier".to_owned(),
            durability: Durability::default(),
            readable: None,
            timeout: TIMEOUT,
            keep: None,
            page_bytes: PAGE_BYTES,
            tail_bytes: TAIL_BYTES,
            auth_source: None,
            replica_set: None,
            tls: None,
        };
        for (option, value) in url.options() {
            config.set(url.scheme, option, value)?;
        }
        Ok(config)
    }

    /// The URL of the database and the prefix, without other options.
    pub(super) fn resolved_url(&self) -> String {
        let (servers, database) = (self.servers.shown(), &self.database);
        format!("{NAME}://{servers}/{database}?prefix={}", self.prefix)
    }

    fn set(&mut self, scheme: &str, option: &str, value: &str) -> Result<()> {
        let tls = &mut self.tls;
        match option {
            "prefix" => self.prefix = name(value, option)?,
            "password_file" => self.servers.password = Some(password(value)?),
            "durability" => self.durability = Durability::parse(value)?,
            "readable" => self.readable = Some(readable_columns::parse(value)?),
            "timeout_ms" => self.timeout = milliseconds(option, value)?,
            "keep_ms" => {
                let (least, most) = KEEP_MS_MIN_MAX;
                let keep_ms: u64 = number(option, value)?;
                self.keep = Some(Duration::from_millis(keep_ms.clamp(least, most)));
            }
            "page_bytes" => self.page_bytes = bytes(option, value, PAGE_BYTES_MIN_MAX)?,
            "tail_bytes" => self.tail_bytes = bytes(option, value, TAIL_BYTES_MIN_MAX)?,
            "authSource" => self.auth_source = Some(value.to_owned()),
            "replicaSet" => self.replica_set = Some(value.to_owned()),
            "tls" => {
                if switch(option, value)? {
                    tls.get_or_insert_default();
                }
            }
            "ca" => tls.get_or_insert_default().ca = Some(value.into()),
            "cert" => tls.get_or_insert_default().certificate = Some(value.into()),
            "key" => tls.get_or_insert_default().key = Some(value.into()),
            _ => {
                let known = "prefix, durability, password_file, readable, timeout_ms, keep_ms, page_bytes, \
                             tail_bytes, authSource, replicaSet, tls, ca, cert and key";
                return unknown_option(scheme, option, known);
            }
        }
        Ok(())
    }
}

/// Parses a number of bytes, clamped to the bounds.
fn bytes(option: &str, value: &str, (least, most): (u64, u64)) -> Result<usize> {
    let bytes: u64 = number(option, value)?;
    Ok(bytes.clamp(least, most) as usize)
}

/// Checks the name of a database or the prefix of collections against what MongoDB accepts on every system.
fn name(value: &str, what: &str) -> Result<String> {
    let is_allowed =
        |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if value.is_empty() || value.len() > 60 || !value.chars().all(is_allowed) {
        let message = format!(
            "{what} is {value:?}; it may have up to 60 letters (a to z), digits, '_' and '-'"
        );
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
        let plain = config("mongodb://host").expect("no options");
        assert_eq!((&*plain.database, &*plain.prefix), ("espalier", "espalier"));
        assert_eq!(plain.durability, Durability::Durable);
        assert!(plain.tls.is_none() && plain.readable.is_none());
        let full = "mongodb://u:p@h:1,h:2/d?prefix=x&durability=relaxed&timeout_ms=5&keep_ms=1\
                    &readable=true&authSource=d&replicaSet=r&ca=f";
        let full = config(full).expect("options");
        assert_eq!((&*full.database, full.timeout.as_millis()), ("d", 5));
        let keep = full.keep.map(|keep| keep.as_millis());
        assert_eq!((keep, full.readable), (Some(1000), Some(true)));
        assert!(full.tls.is_some_and(|tls| tls.ca.is_some()));
        for wrong in [
            "mongodb:host",
            "mongodb://h/a.b",
            "mongodb://h?prefix=",
            "mongodb://h?prefix=a$b",
            "mongodb://h?durability=perhaps",
            "mongodb://h?readable=maybe",
            "mongodb://h?timeout_ms=soon",
            "mongodb://h?w=1",
        ] {
            assert!(config(wrong).is_err(), "{wrong}");
        }
    }
}
