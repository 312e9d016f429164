//! Where a configuration node in the operational state datastore comes from (RFC 8342 §5.3.4).

/// An identity of `ietf-origin`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// Configuration provided by `intended`.
    Intended,
    /// A dynamic configuration datastore.
    Dynamic,
    /// The system itself: present without having been configured.
    System,
    /// Protocols with other systems: DHCP, routing.
    Learned,
    /// A default value of the model or of the system.
    Default,
    /// Unknown to the system. The default for pushed data.
    #[default]
    Unknown,
}

impl Origin {
    /// Every origin.
    pub const ALL: [Self; 6] = [
        Self::Intended,
        Self::Dynamic,
        Self::System,
        Self::Learned,
        Self::Default,
        Self::Unknown,
    ];

    /// The name of the identity, without its module.
    pub fn name(self) -> &'static str {
        match self {
            Self::Intended => "intended",
            Self::Dynamic => "dynamic",
            Self::System => "system",
            Self::Learned => "learned",
            Self::Default => "default",
            Self::Unknown => "unknown",
        }
    }

    /// The identity as JSON has it (RFC 7951 §6.8).
    pub fn identity(self) -> &'static str {
        match self {
            Self::Intended => "ietf-origin:intended",
            Self::Dynamic => "ietf-origin:dynamic",
            Self::System => "ietf-origin:system",
            Self::Learned => "ietf-origin:learned",
            Self::Default => "ietf-origin:default",
            Self::Unknown => "ietf-origin:unknown",
        }
    }

    /// The origin with a name, with any prefix or none.
    pub fn parse(name: &str) -> Option<Self> {
        let local = name.rsplit(':').next().unwrap_or_default();
        Self::ALL.into_iter().find(|origin| origin.name() == local)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_origin_is_found_by_its_names() {
        for origin in Origin::ALL {
            assert_eq!(Origin::parse(origin.name()), Some(origin));
            assert_eq!(Origin::parse(origin.identity()), Some(origin));
        }
        assert_eq!(Origin::parse("or:elsewhere"), None);
    }
}
