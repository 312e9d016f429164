//! The options of the SQLite driver.

use std::path::PathBuf;

use espalier_keyspace::Result;

use crate::durability::Durability;
use crate::readable_columns;
use crate::url::{Url, unknown_option};

/// The name of the driver, and the scheme of its URLs.
pub const NAME: &str = "sqlite";

/// The options of the SQLite driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The file. It is created if it does not exist.
    pub file: PathBuf,
    /// When an acknowledged commit is on disk.
    pub durability: Durability,
    /// Whether the file has readable columns and a view, to be queried with SQL. `None` leaves the file as it is.
    pub readable: Option<bool>,
}

impl Config {
    /// A durable key space in a file.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            durability: Durability::default(),
            readable: None,
        }
    }

    /// The options of a URL such as `sqlite:FILE?durability=relaxed`.
    pub(crate) fn from_url(url: &Url<'_>) -> Result<Self> {
        let mut config = Self::new(url.needed_place("file", "FILE")?);
        for (option, value) in url.options() {
            match option {
                "durability" => config.durability = Durability::parse(value)?,
                "readable" => config.readable = Some(readable_columns::parse(value)?),
                _ => return unknown_option(url.scheme, option, "durability and readable"),
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
        let plain = config("sqlite:/a/b.db").expect("no options");
        assert_eq!(plain, Config::new("/a/b.db"));
        let relaxed = config("sqlite:f?durability=relaxed").expect("an option");
        assert_eq!(relaxed.durability, Durability::Relaxed);
        for wrong in [
            "sqlite:",
            "sqlite:?durability=durable",
            "sqlite:f?durability=perhaps",
            "sqlite:f?readable=maybe",
            "sqlite:f?cache=no",
        ] {
            assert!(config(wrong).is_err(), "{wrong}");
        }
    }
}
