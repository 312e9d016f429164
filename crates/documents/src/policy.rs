//! Cache policies of collections.

use std::fmt;
use std::str::FromStr;

use crate::limits::{RECENT_BYTES, RECENT_ENTRIES};
use crate::{Error, Result};

/// What a process caches of a collection in memory. The results are the same under each policy; they differ
/// in time and memory, and with [`Policy::Ram`] no data outlives the process.
///
/// A cache follows the commits of other processes: a change is visible at most
/// [`crate::limits::STALE_MS_MAX`] after the engine reports it. Changes through this [`crate::Documents`] are
/// visible immediately. After [`crate::Collection::refresh`] a read sees everything that was committed
/// before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// No cache: every read goes to the engine.
    #[default]
    Uncached,
    /// The indexes; documents are read from the engine.
    Indexed,
    /// The recently used documents; indexes are read from the engine.
    Recent {
        /// The maximum number of cached documents.
        entries: usize,
        /// The maximum size of the cached documents in bytes, as stored.
        bytes: usize,
    },
    /// All documents and all indexes.
    Cached,
    /// All documents and all indexes; nothing is written to the engine, so the data is lost with the process.
    Ram,
}

impl Policy {
    /// [`Policy::Recent`] with the default limits.
    pub const RECENT: Self = Self::Recent {
        entries: RECENT_ENTRIES,
        bytes: RECENT_BYTES,
    };

    /// Whether indexes are cached.
    pub(crate) fn keeps_indexes(self) -> bool {
        matches!(self, Self::Indexed | Self::Cached | Self::Ram)
    }

    /// Whether all documents are cached.
    pub(crate) fn keeps_documents(self) -> bool {
        matches!(self, Self::Cached | Self::Ram)
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Uncached => "uncached",
            Self::Indexed => "indexed",
            Self::Recent { .. } => "recent",
            Self::Cached => "cached",
            Self::Ram => "ram",
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Policy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let all = [
            Self::Uncached,
            Self::Indexed,
            Self::RECENT,
            Self::Cached,
            Self::Ram,
        ];
        all.into_iter()
            .find(|policy| policy.as_str() == text)
            .ok_or_else(|| {
                Error::argument(format!(
                    "{text:?} is not a policy; use uncached, indexed, recent, cached or ram"
                ))
            })
    }
}
