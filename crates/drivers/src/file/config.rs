//! The options of the file driver.

use std::path::PathBuf;

use espalier_keyspace::Result;

use crate::durability::Durability;
use crate::url::{Url, bytes, unknown_option};

/// The name of the driver, and the scheme of its URLs.
pub const NAME: &str = "file";

/// Journals smaller than this are not compacted during commits: 8 MiB.
pub const JOURNAL_BYTES: u64 = 8 << 20;

/// The options of the file driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The directory, created if it does not exist.
    pub dir: PathBuf,
    /// When an acknowledged commit is on disk.
    pub durability: Durability,
    /// Journals smaller than this are not compacted during commits.
    pub journal_bytes: u64,
}

impl Config {
    /// A durable key space in a directory.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            durability: Durability::default(),
            journal_bytes: JOURNAL_BYTES,
        }
    }

    /// Parses the options of a URL such as `file:DIR?durability=relaxed`.
    pub(crate) fn from_url(url: &Url<'_>) -> Result<Self> {
        let mut config = Self::new(url.needed_place("directory", "DIR")?);
        for (option, value) in url.options() {
            match option {
                "durability" => config.durability = Durability::parse(value)?,
                "journal_size" => config.journal_bytes = bytes(option, value)? as u64,
                _ => return unknown_option(url.scheme, option, "durability and journal_size"),
            }
        }
        Ok(config)
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
        assert_eq!(config("file:/a/b").expect("none"), Config::new("/a/b"));
        let full = config("file:d?durability=relaxed&journal_size=64K").expect("options");
        assert_eq!(
            (full.durability, full.journal_bytes),
            (Durability::Relaxed, 64 << 10)
        );
        for wrong in [
            "file:",
            "file:?durability=durable",
            "file:d?durability=perhaps",
            "file:d?journal_size=much",
            "file:d?cache=no",
        ] {
            assert!(config(wrong).is_err(), "{wrong}");
        }
    }
}
