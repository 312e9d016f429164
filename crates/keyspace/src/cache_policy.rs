//! Which part of an engine a driver caches in memory, and how current the cache is.

use std::time::Duration;

use crate::Version;

/// How much of an engine is cached in the memory of this process. Results are the same under each policy;
/// costs differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Everything, read once. Changes stay in memory and are lost at the end of the process; the engine is
    /// never written.
    Ram,
    /// Everything; commits go to the engine, and commits of other processes are followed.
    Cached,
    /// The most recently read values, up to a number of bytes.
    Recent,
    /// All keys, and values up to a size; larger values are read from the engine.
    Indexed,
    /// Nothing: all reads go to the engine.
    #[default]
    Uncached,
}

impl Policy {
    /// Every policy, from the most cached to nothing.
    pub const ALL: [Self; 5] = [
        Self::Ram,
        Self::Cached,
        Self::Recent,
        Self::Indexed,
        Self::Uncached,
    ];

    /// The name used in URLs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ram => "ram",
            Self::Cached => "cached",
            Self::Recent => "recent",
            Self::Indexed => "indexed",
            Self::Uncached => "uncached",
        }
    }

    /// Returns the policy with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }
}

/// The state of a driver's cache: see [`crate::DriverExtension::cache_status`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheStatus {
    /// The policy.
    pub policy: Policy,
    /// Number of cached keys.
    pub keys: u64,
    /// Bytes of cached keys and values, without overhead.
    pub bytes: u64,
    /// The version up to which the engine was followed; `None` if it is not followed.
    pub version: Option<Version>,
    /// How long ago the cache was last confirmed to be current; `None` if reads go to the engine.
    pub lag: Option<Duration>,
    /// The maximum of `lag`; above it, reads fail instead of returning older data.
    pub lag_max: Option<Duration>,
    /// Why following the engine fails at the moment, if it does.
    pub failure: Option<String>,
}
