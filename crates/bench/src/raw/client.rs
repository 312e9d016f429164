//! The interface of raw engine clients.

use super::contents::Contents;
use crate::recorder::Trace;
use espalier_terminal::Result;

/// An engine's own client on a separate store.
pub trait RawEngine {
    /// Writes all contents in one transaction, or in as few as the engine allows.
    fn load(&self, contents: &Contents) -> Result<()>;

    /// Replays a trace: its reads, then its commits. Returns the number of bytes read.
    fn replay(&self, trace: &Trace) -> Result<usize>;
}
