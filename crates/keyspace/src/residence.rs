//! What a driver keeps in memory of its engine, and how current that is.

use std::time::Duration;

use crate::Version;

/// How much of an engine is kept in the memory of this process. The results are the same under
/// each; what they cost is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Everything, read once; what is changed stays in memory and is gone at the end of the
    /// process. The engine is never written to.
    Ram,
    /// Everything; commits go to the engine, and those of others are followed.
    Cached,
    /// The values that were read last, within a number of bytes.
    Recent,
    /// Every key, and the values up to a size; larger values are read from the engine.
    Indexed,
    /// Nothing: the engine as it is.
    #[default]
    Uncached,
}

impl Policy {
    /// Every policy, from the most in memory to nothing.
    pub const ALL: [Self; 5] = [
        Self::Ram,
        Self::Cached,
        Self::Recent,
        Self::Indexed,
        Self::Uncached,
    ];

    /// The name, as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ram => "ram",
            Self::Cached => "cached",
            Self::Recent => "recent",
            Self::Indexed => "indexed",
            Self::Uncached => "uncached",
        }
    }

    /// The policy of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }
}

/// What a driver keeps in memory, and how current it is: see [`crate::Driver::residence`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Residence {
    /// How much is kept.
    pub policy: Policy,
    /// Keys in memory.
    pub keys: u64,
    /// Bytes of keys and values in memory, without overhead.
    pub bytes: u64,
    /// The version up to which the engine was followed; `None` where nothing is followed.
    pub version: Option<Version>,
    /// How long ago what is in memory was last known to be the newest state; `None` where reads
    /// do not depend on that, as they ask the engine.
    pub lag: Option<Duration>,
    /// What `lag` may be at most: beyond, reads are refused instead of showing what is older.
    pub lag_max: Option<Duration>,
    /// Why the engine cannot be followed at the moment, where that is so.
    pub failure: Option<String>,
}
