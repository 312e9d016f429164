//! The datastores of RFC 8342.

use espalier_yang::{DataError, ErrorTag, ErrorType};

/// A datastore of an anchor. Ids in keys are never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Datastore {
    /// The configuration in use (RFC 8342 §5.1.3); may also contain state data.
    #[default]
    Running,
    /// The configuration to start with (RFC 8342 §5.1.1): a tree of its own.
    Startup,
    /// Shared, uncommitted changes of running (RFC 8342 §5.1.2): stored as changes, read as running with
    /// these changes applied.
    Candidate,
    /// A candidate of a single session.
    PrivateCandidate,
    /// What is in use now: configuration and state (RFC 8342 §5.3).
    Operational,
    /// The factory default configuration (RFC 8808): a tree of its own that cannot be edited, only loaded
    /// or copied to.
    FactoryDefault,
    /// Running after all transformations (RFC 8342 §5.1.4). There are none, so it reads as running.
    /// Read-only.
    Intended,
}

impl Datastore {
    /// All datastores.
    pub const ALL: [Self; 7] = [
        Self::Running,
        Self::Startup,
        Self::Candidate,
        Self::PrivateCandidate,
        Self::Operational,
        Self::FactoryDefault,
        Self::Intended,
    ];

    /// The number in keys. Never reused.
    pub(crate) fn id(self) -> u8 {
        match self {
            Self::Running => 1,
            Self::Startup => 2,
            Self::Candidate => 3,
            Self::Operational => 4,
            Self::FactoryDefault => 5,
            Self::Intended => 6,
            Self::PrivateCandidate => 7,
        }
    }

    /// The datastore whose keys are read: running for candidates and for intended.
    pub(crate) fn stored_in(self) -> Self {
        match self {
            Self::Candidate | Self::PrivateCandidate | Self::Intended => Self::Running,
            stored => stored,
        }
    }

    /// Whether this is a candidate.
    pub fn is_candidate(self) -> bool {
        matches!(self, Self::Candidate | Self::PrivateCandidate)
    }

    /// The identity in `ietf-datastores`; the private candidate has none there.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Startup => "startup",
            Self::Candidate => "candidate",
            Self::PrivateCandidate => "private-candidate",
            Self::Operational => "operational",
            Self::FactoryDefault => "factory-default",
            Self::Intended => "intended",
        }
    }

    /// Why edits of it are rejected; `None` if they are not.
    pub fn edits_rejected(self) -> Option<&'static str> {
        match self {
            Self::Intended => Some("intended is read-only: edit running"),
            Self::FactoryDefault => Some(
                "factory-default cannot be edited; load a whole document into it or copy a datastore to it",
            ),
            _ => None,
        }
    }

    /// The datastore with a name that a client gives.
    ///
    /// # Errors
    /// `invalid-value`, with the names that there are.
    pub fn parse(name: &str) -> Result<Self, DataError> {
        Self::named(name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            let message = format!("there is no datastore “{name}”; it is one of {names}");
            DataError::new(ErrorTag::InvalidValue, message).of_type(ErrorType::Protocol)
        })
    }

    /// The datastore with a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|datastore| datastore.name() == name)
    }
}
