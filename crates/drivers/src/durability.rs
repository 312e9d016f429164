//! The durability option, shared by all engines with a disk.

use espalier_keyspace::Result;

use crate::url::refusal;

/// When an acknowledged commit is on disk. The guarantees of each driver are documented in its module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Before it is acknowledged.
    #[default]
    Durable,
    /// Later: when the engine or the operating system writes it, or at a flush.
    Relaxed,
}

impl Durability {
    /// Parses the URL option `durability`.
    pub(crate) fn parse(value: &str) -> Result<Self> {
        match value {
            "durable" => Ok(Self::Durable),
            "relaxed" => Ok(Self::Relaxed),
            _ => Err(refusal(format!(
                "durability is {value:?}; it must be durable or relaxed"
            ))),
        }
    }
}
