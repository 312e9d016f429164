//! When an acknowledged commit is on disk: the one choice that every engine with a disk has.

use espalier_keyspace::Result;

use crate::url::refusal;

/// When an acknowledged commit is on disk. What each promises stands in the module of the driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Before it is acknowledged.
    #[default]
    Durable,
    /// Later: when the engine or the operating system writes it, or at a flush.
    Relaxed,
}

impl Durability {
    /// The value of the option `durability` in a URL.
    pub(crate) fn parse(value: &str) -> Result<Self> {
        match value {
            "durable" => Ok(Self::Durable),
            "relaxed" => Ok(Self::Relaxed),
            _ => Err(refusal(format!(
                "durability is {value:?}; it may be durable or relaxed"
            ))),
        }
    }
}
