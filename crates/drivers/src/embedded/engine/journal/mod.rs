//! The journal: small commits are appended to it, and merged into LMDB later, many at once.
//!
//! In LMDB, a commit of some rows changes a page for each row, and pages above those, and writes all of
//! them: at least ten times the size of the change. In the journal it is one append, and one flush if it
//! has to be durable. Rows that are not in LMDB yet are in memory ([`changed_rows`]) and take precedence over
//! LMDB's.
//!
//! The journal consists of segments. The newest one receives commits. When it is full, or there were no
//! commits for a moment, the next one begins, and a thread merges the rows of the previous one into LMDB in
//! one transaction ([`merge`]). The header of a segment contains the ID of the LMDB transaction that it
//! follows, so the ID of the newest transaction shows which segments are merged, without further records. A
//! commit that is too large for the journal is merged at once, together with everything before it.
//!
//! Processes share the journal: its end position is in a page of shared memory ([`head`]), and each process
//! reads up to it before it shows a state ([`view`]).

mod changed_rows;
mod files;
mod foreign_commits;
mod frame;
mod head;
mod merge;
mod overlay_cursor;
mod recover;
mod removed_ranges;
mod segment;
mod shared_journal;
mod view;

pub(in crate::embedded) use changed_rows::{ChangedRows, lookup};
pub(in crate::embedded) use files::has_journal;
pub(in crate::embedded) use merge::{Merger, bounds, merge_rows, remove_range};
pub(in crate::embedded) use overlay_cursor::{OverlayCursor, RowCursor};
pub(in crate::embedded) use shared_journal::{CommitLock, FRAME_BYTES_MAX, Fault, Journal};
pub(in crate::embedded) use view::Layers;
