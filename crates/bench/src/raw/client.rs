//! What every client of an engine does.

use super::contents::Contents;
use crate::recorder::Trace;
use espalier_terminal::Result;

/// An engine's own client on a place of its own.
pub trait RawEngine {
    /// Puts all of it in one transaction, or in as few as the engine allows.
    fn load(&self, contents: &Contents) -> Result<()>;

    /// Does what a trace says: its reads, then its commits. The bytes read.
    fn replay(&self, trace: &Trace) -> Result<usize>;
}
