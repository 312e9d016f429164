//! The journal: small commits are appended to it, and LMDB gets them later, many at once.
//!
//! A commit of some rows changes a page of LMDB for each of them, and pages above those, and has all of
//! them written: ten times and more what it is about. Appended to a file it is one write, and one flush
//! where it has to be durable. What LMDB does not have yet is in memory ([`rows`]), over what a reader
//! finds in LMDB.
//!
//! The journal is cut into segments. The newest takes commits; when it is long, or nobody commits for a
//! moment, the next one begins, and the rows of the one before it are merged into LMDB in one
//! transaction, by a thread of its own ([`merge`]). A segment says which LMDB transaction it follows, so
//! the number of the newest transaction tells for each whether it was merged: nothing else has to be
//! written about it. A commit that is too large for the journal is merged at once, together with
//! everything before it.
//!
//! Processes share the journal: a page of memory says how far it goes ([`head`]), and each reads on from
//! where it was before it shows anything ([`view`]).

mod files;
mod frame;
mod head;
mod merge;
mod others;
mod recover;
mod rows;
mod segment;
mod shared;
mod view;

pub(in crate::embedded) use merge::{Merger, merge_rows};
pub(in crate::embedded) use rows::{Over, REMOVED, Run, get, held, put};
pub(in crate::embedded) use shared::{FRAME_BYTES_MAX, Fault, Journal, Turn};
pub(in crate::embedded) use view::Layers;
