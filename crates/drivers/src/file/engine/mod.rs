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
pub(in crate::file) use compact::{bring_up_to_date, compact_when_due};
pub(in crate::file) use documents::use_lens;
pub(in crate::file) use journal::Pending;
pub(in crate::file) use open::{Engine, Log, open};
