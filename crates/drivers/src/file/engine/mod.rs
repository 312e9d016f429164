//! The files: their format, opening, compaction, checks, and documents.

mod check;
mod compact;
mod documents;
mod frame;
mod journal;
mod names;
mod open;
mod record;
mod replay;
mod unknown_documents;

pub(in crate::file) use check::{check, usage};
pub use compact::JOURNAL_FACTOR;
pub(in crate::file) use compact::{compact_when_due, flush_all};
pub(in crate::file) use documents::set_lens;
pub(in crate::file) use journal::Pending;
pub(in crate::file) use open::{Engine, Log, open};
