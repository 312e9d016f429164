//! The options of the embedded driver.

use std::path::PathBuf;

use espalier_keyspace::Result;

use crate::durability::Durability;
use crate::url::{Url, bytes, refusal, unknown_option};

/// The name of the driver, and the scheme of its URLs.
pub const NAME: &str = "embedded";

/// The options of the embedded driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The directory, created if it does not exist.
    pub dir: PathBuf,
    /// When an acknowledged commit is on disk.
    pub durability: Durability,
    /// Bytes of address space to reserve at first; [`super::MAP_BYTES`] by default. Doubled when full.
    pub map_bytes: Option<usize>,
    /// Bytes of address space to reserve beyond the file, if that is more than `map_bytes` and the address
    /// space of the process is not limited (`RLIMIT_AS`): a sufficient map never has to wait for snapshots
    /// in order to grow.
    pub headroom_bytes: usize,
    /// Bytes of the journal after which it is merged into LMDB, from [`JOURNAL_BYTES_MIN`] to
    /// [`JOURNAL_BYTES_MAX`]. Up to twice as much is in memory.
    pub journal_bytes: usize,
}

/// The default size of the journal after which it is merged: 16 MiB.
pub const JOURNAL_BYTES: usize = 16 << 20;

/// The minimum of that size: 4 KiB.
pub const JOURNAL_BYTES_MIN: usize = 4 << 10;

/// The maximum of that size: 32 MiB.
pub const JOURNAL_BYTES_MAX: usize = 32 << 20;

impl Config {
    /// A durable key space in a directory.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            durability: Durability::default(),
            map_bytes: None,
            headroom_bytes: super::HEADROOM_BYTES,
            journal_bytes: JOURNAL_BYTES,
        }
    }

    /// Parses the options of a URL such as `embedded:DIR?durability=relaxed`.
    pub(crate) fn from_url(url: &Url<'_>) -> Result<Self> {
        let mut config = Self::new(url.needed_place("directory", "DIR")?);
        for (option, value) in url.options() {
            match option {
                "durability" => config.durability = Durability::parse(value)?,
                "map_size" => config.map_bytes = Some(bytes(option, value)?),
                "journal_size" => config.journal_bytes = journal_bytes(bytes(option, value)?)?,
                _ => {
                    let supported = "durability, map_size and journal_size";
                    return unknown_option(url.scheme, option, supported);
                }
            }
        }
        Ok(config)
    }
}

fn journal_bytes(bytes: usize) -> Result<usize> {
    match bytes {
        JOURNAL_BYTES_MIN..=JOURNAL_BYTES_MAX => Ok(bytes),
        _ => Err(refusal(format!(
            "journal_size is {bytes}; it must be {JOURNAL_BYTES_MIN} to {JOURNAL_BYTES_MAX} bytes"
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
        let plain = config("embedded:/a/b").expect("no options");
        assert_eq!(plain, Config::new("/a/b"));
        let full = "embedded:d?durability=relaxed&map_size=64M&journal_size=1M";
        let full = config(full).expect("options");
        assert_eq!(full.durability, Durability::Relaxed);
        assert_eq!(full.map_bytes, Some(64 << 20));
        assert_eq!(full.journal_bytes, 1 << 20);
        for wrong in [
            "embedded:",
            "embedded:?durability=durable",
            "embedded:d?durability=perhaps",
            "embedded:d?map_size=big",
            "embedded:d?map_size=",
            "embedded:d?map_size=18446744073709551615G",
            "embedded:d?journal_size=1K",
            "embedded:d?journal_size=1G",
            "embedded:d?sync=no",
        ] {
            assert!(config(wrong).is_err(), "{wrong}");
        }
    }
}
