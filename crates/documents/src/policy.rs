//! How much of a collection is kept in memory.

use std::fmt;
use std::str::FromStr;

use crate::limits::{RECENT_BYTES, RECENT_ENTRIES};
use crate::{Error, Result};

/// What of a collection is kept in the memory of this process. The same results under each; they
/// differ in time and memory, and [`Policy::Ram`] in that nothing outlives the process.
///
/// What is kept follows the commits of other processes: a change is seen at the latest
/// [`crate::limits::STALE_MS_MAX`] after the engine tells of it. Changes made through this
/// [`crate::Documents`] are seen at once, and [`crate::Collection::refresh`] before a read makes it
/// see everything that was committed before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Nothing: every read reads the engine.
    #[default]
    Uncached,
    /// The indexes; documents are read from the engine.
    Indexed,
    /// The documents that were used last; indexes are read from the engine.
    Recent {
        /// The most documents that are kept.
        entries: usize,
        /// The most bytes of documents, as they are stored, that are kept.
        bytes: usize,
    },
    /// Documents and indexes.
    Cached,
    /// Documents and indexes, and nothing is written to the engine: gone with the process.
    Ram,
}

impl Policy {
    /// [`Policy::Recent`] with the usual limits.
    pub const RECENT: Self = Self::Recent {
        entries: RECENT_ENTRIES,
        bytes: RECENT_BYTES,
    };

    /// Whether indexes are kept in memory.
    pub(crate) fn keeps_indexes(self) -> bool {
        matches!(self, Self::Indexed | Self::Cached | Self::Ram)
    }

    /// Whether all documents are kept in memory.
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
                    "{text:?} is no policy; there are uncached, indexed, recent, cached and ram"
                ))
            })
    }
}
