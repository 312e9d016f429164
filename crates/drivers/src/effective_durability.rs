//! The durability of acknowledged commits with the current settings of the engine.

/// What acknowledged commits survive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EffectiveDurability {
    /// A crash of this process, of the server, and of the machine.
    Durable,
    /// A crash of this process. The latest commits may be lost if the machine crashes, or the server, if
    /// there is one. With the server settings that cause this, if any.
    Relaxed(Option<String>),
    /// Commits are lost at the end of this process.
    Volatile,
}

impl EffectiveDurability {
    /// The durability that the URL requests, for engines that always provide it.
    pub(crate) fn of_url(url: &crate::url::Url<'_>) -> espalier_keyspace::Result<Self> {
        use crate::durability::Durability;

        let mut options = url.options();
        let option = options.find(|(name, _)| *name == "durability");
        let durability = option.map(|(_, value)| Durability::parse(value));
        Ok(match durability.transpose()?.unwrap_or_default() {
            Durability::Durable => Self::Durable,
            Durability::Relaxed => Self::Relaxed(None),
        })
    }

    /// A short name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Durable => "durable",
            Self::Relaxed(_) => "relaxed",
            Self::Volatile => "not durable",
        }
    }

    /// The server settings that reduce durability.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Relaxed(reason) => reason.as_deref(),
            _ => None,
        }
    }
}
