//! A key space in a directory with human-readable, editable documents.
//!
//! All rows are in memory, in the map of the [`memory`](crate::memory) driver, so reads and snapshots cost
//! the same as there. There are three kinds of files on disk:
//!
//! | file | holds |
//! |---|---|
//! | `espalier.data.N` | every row, at the time the file was written |
//! | `espalier.journal.N` | the commits since then, one record per commit |
//! | `datastores/…` | the documents of the [lens](espalier_keyspace::Lens), which people read and edit |
//!
//! The process that has the directory open holds a lock on `espalier.lock`.
//!
//! # Design
//! - **A journal.** A commit is appended and flushed; concurrent commits share the flush
//!   (`group_commit.rs`). When the journal is [`JOURNAL_FACTOR`] times as large as the data, a thread
//!   writes a new data file while commits go to the next journal. A kill at any point leaves either the old
//!   files or the new one.
//! - **Documents are written when the directory is closed**, and when it is opened after a crash. A commit
//!   that changes one leaf must not rewrite the document; unchanged documents are not rewritten.
//! - **The data file contains the rows of the documents too.** A document contains neither the positions of
//!   entries in a list, on which the history depends, nor stamps; a damaged document loses nothing; and the
//!   driver is complete without a lens. The cost is disk space.
//! - **An edited document becomes a commit**: the owner of the lens parses, validates and commits it, or
//!   rejects it without any change. A document that was edited while it was older than the data (after a
//!   crash) is never imported: that would undo later commits.
//! - **A damaged end of the journal is truncated only if nothing after it was flushed.** Each record
//!   contains how much of the journal was flushed when it was written. If a record after the bad one shows
//!   that the bad one was flushed, the file is damaged, and the directory is not opened. Without a restart
//!   of the machine, everything that a process wrote is in the file; the lock file contains the boot ID of
//!   the last use, and within the same boot only an incomplete last record is truncated.
//!
//! # Guarantees
//! | durability | process killed | machine crashed |
//! |---|---|---|
//! | [`Durability::Durable`] | every acknowledged commit is kept, atomically | every acknowledged commit is kept, atomically |
//! | [`Durability::Relaxed`] | every acknowledged commit is kept, atomically | commits since the last [`flush`](espalier_keyspace::Driver::flush) may be lost, the latest first |

mod commit;
mod config;
mod driver;
mod engine;
mod snapshot;
mod watch;

pub use crate::durability::Durability;
pub use config::{Config, JOURNAL_BYTES, NAME};
pub use driver::Directory;
pub(crate) use driver::open_url;
pub use engine::JOURNAL_FACTOR;
