//! The datastores of RFC 8342.

/// A datastore of an anchor. Ids in keys are never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Datastore {
    /// The configuration in use (RFC 8342 §5.1.3); state data may stand beside it.
    #[default]
    Running,
}

impl Datastore {
    /// The number in keys.
    pub(crate) fn id(self) -> u8 {
        match self {
            Self::Running => 1,
        }
    }

    /// The identity in `ietf-datastores`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
        }
    }
}
