//! The options of the embedded driver.

use std::path::PathBuf;

use espalier_keyspace::Result;

use crate::durability::Durability;
use crate::url::{Url, bytes, unknown_option};

/// The options of the embedded driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The directory, made where it does not exist.
    pub dir: PathBuf,
    /// When an acknowledged commit is on disk.
    pub durability: Durability,
    /// Bytes of address space to reserve; [`super::MAP_BYTES`] when not given. It is doubled when
    /// it fills up.
    pub map_bytes: Option<usize>,
}

impl Config {
    /// A durable key space in a directory.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            durability: Durability::default(),
            map_bytes: None,
        }
    }

    /// The options that a URL such as `embedded:DIR?durability=relaxed` holds.
    pub(crate) fn from_url(url: &Url<'_>) -> Result<Self> {
        let mut config = Self::new(url.needed_place("directory", "DIR")?);
        for (option, value) in url.options() {
            match option {
                "durability" => config.durability = Durability::parse(value)?,
                "map_size" => config.map_bytes = Some(bytes(option, value)?),
                _ => return unknown_option(url.scheme, option, "durability and map_size"),
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
        let plain = config("embedded:/a/b").expect("no options");
        assert_eq!(plain, Config::new("/a/b"));
        let full = config("embedded:d?durability=relaxed&map_size=64M").expect("options");
        assert_eq!(full.durability, Durability::Relaxed);
        assert_eq!(full.map_bytes, Some(64 << 20));
        for wrong in [
            "embedded:",
            "embedded:?durability=durable",
            "embedded:d?durability=perhaps",
            "embedded:d?map_size=big",
            "embedded:d?map_size=",
            "embedded:d?map_size=18446744073709551615G",
            "embedded:d?sync=no",
        ] {
            assert!(config(wrong).is_err(), "{wrong}");
        }
    }
}
