//! The options of the etcd driver.

use std::time::Duration;

use espalier_keyspace::Result;

use crate::credentials::{Tls, password};
use crate::url::{Url, milliseconds, number, switch, unknown_option};
use crate::url_authority::Authority;

/// The name of the driver, and the scheme of its URLs.
pub const NAME: &str = "etcd";

/// Default of `timeout_ms`, the time for which a call tries to reach the servers: ten seconds.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// Default of `operations`, the most operations in one transaction: etcd's default for `--max-txn-ops`.
pub const OPERATIONS: usize = 128;

/// Lower bound of `operations`.
const OPERATIONS_MIN: usize = 16;

/// Bytes in one transaction: 1 MiB, two thirds of etcd's default for `--max-request-bytes`.
pub const REQUEST_BYTES: usize = 1 << 20;

/// Default port.
const PORT: u16 = 2379;

/// Default prefix of all keys.
const PREFIX: &str = "espalier";

/// The options of the etcd driver.
#[derive(Clone)]
pub struct Config {
    pub(super) servers: Authority,
    /// Prefix of all keys.
    pub(super) prefix: String,
    pub(super) timeout: Duration,
    pub(super) operations: usize,
    /// Set for TLS.
    pub(super) tls: Option<Tls>,
}

impl Config {
    /// Parses the options of a URL such as `etcd://host1,host2,host3/prefix`.
    pub(crate) fn from_url(url: &Url<'_>) -> Result<Self> {
        let servers = Authority::parse(url, PORT)?;
        let prefix = match servers.path.trim_end_matches('/') {
            "" => PREFIX.to_owned(),
            path => path.to_owned(),
        };
        let mut config = Self {
            servers,
            prefix,
            timeout: TIMEOUT,
            operations: OPERATIONS,
            tls: None,
        };
        for (option, value) in url.options() {
            config.set(url.scheme, option, value)?;
        }
        Ok(config)
    }

    fn set(&mut self, scheme: &str, option: &str, value: &str) -> Result<()> {
        let tls = &mut self.tls;
        match option {
            "password_file" => self.servers.password = Some(password(value)?),
            "timeout_ms" => self.timeout = milliseconds(option, value)?,
            "operations" => {
                let operations: u32 = number(option, value)?;
                self.operations = (operations as usize).max(OPERATIONS_MIN);
            }
            "tls" => {
                if switch(option, value)? {
                    tls.get_or_insert_default();
                }
            }
            "ca" => tls.get_or_insert_default().ca = Some(value.into()),
            "cert" => tls.get_or_insert_default().certificate = Some(value.into()),
            "key" => tls.get_or_insert_default().key = Some(value.into()),
            _ => {
                let known = "password_file, timeout_ms, operations, tls, ca, cert and key";
                return unknown_option(scheme, option, known);
            }
        }
        Ok(())
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
        let plain = config("etcd://host").expect("no options");
        assert_eq!((plain.prefix.as_str(), plain.operations), ("espalier", 128));
        assert!(plain.tls.is_none());
        let full = "etcd://u:p@h:1,h:2/some/place?timeout_ms=5&operations=1&ca=f";
        let full = config(full).expect("options");
        assert_eq!(full.prefix, "some/place");
        assert_eq!((full.operations, full.timeout.as_millis()), (16, 5));
        assert!(full.tls.is_some_and(|tls| tls.ca.is_some()));
        for wrong in ["etcd:host", "etcd://h?timeout_ms=soon", "etcd://h?pool=3"] {
            assert!(config(wrong).is_err(), "{wrong}");
        }
    }
}
