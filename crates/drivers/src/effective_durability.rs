//! What acknowledged commits outlive, as an engine is set now.

/// What acknowledged commits outlive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Promise {
    /// The end of this process, of the server, and of the machine.
    Durable,
    /// The end of this process. When a machine stops, or the server where there is one, the latest may be
    /// lost; with the settings of the server that make it so, where they do.
    Relaxed(Option<String>),
    /// Nothing: they are gone with this process.
    Nothing,
}

impl Promise {
    /// That of an engine which keeps to what its URL asks for.
    #[cfg(any(
        feature = "embedded",
        feature = "file",
        feature = "sqlite",
        feature = "mongo"
    ))]
    pub(crate) fn of_url(url: &crate::url::Url<'_>) -> espalier_keyspace::Result<Self> {
        use crate::durability::Durability;

        let mut options = url.options();
        let asked = options.find(|(name, _)| *name == "durability");
        let durability = asked.map(|(_, value)| Durability::parse(value));
        Ok(match durability.transpose()?.unwrap_or_default() {
            Durability::Durable => Self::Durable,
            Durability::Relaxed => Self::Relaxed(None),
        })
    }

    /// In a word.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Durable => "durable",
            Self::Relaxed(_) => "relaxed",
            Self::Nothing => "not durable",
        }
    }

    /// The settings of the server that make it less than durable.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Relaxed(reason) => reason.as_deref(),
            _ => None,
        }
    }
}
