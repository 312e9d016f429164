//! A key space in a directory that people can read and edit.
//!
//! All rows are in memory, in the tree of the [`memory`](crate::memory) driver, so reads and snapshots
//! cost what they cost there. On disk are three kinds of files:
//!
//! | file | holds |
//! |---|---|
//! | `espalier.data.N` | every row, as it was when the file was written |
//! | `espalier.journal.N` | what was committed since, one record a commit |
//! | `datastores/…` | the documents of the [lens](espalier_keyspace::Lens): what people read and edit |
//!
//! and `espalier.lock`, which the one process that has the directory open holds.
//!
//! # Why this way
//! - **A journal.** A commit is appended and flushed; commits that come at once share the flush
//!   (`group.rs`). When it is [`JOURNAL_FACTOR`] times as large as the data, a new data file is
//!   written beside, by a thread, while commits go on into the next journal: a kill at any point leaves
//!   the old files or the new one.
//! - **Documents are written when the directory is closed**, and when it is opened after a process was killed.
//!   A commit that changes one leaf must not write the document, and a document that nobody changes
//!   is not written again.
//! - **The data file holds the documents' rows too.** A document tells what there is, but not the position of an entry in
//!   its list, on which the history relies, nor stamps; a
//!   damaged document costs nothing; and the driver is whole without a lens. The price is disk space.
//! - **A document that was edited is a commit**: the one who gives the lens parses, validates and commits
//!   it, or refuses it, and then nothing is changed. A document that was edited when it was
//!   behind the data (its process was killed) is never taken: it would undo what was committed since.
//! - **A damaged end of the journal is cut only where nothing after it was flushed.** Each record says how
//!   much of the journal was flushed when it was written; a record after the bad one that says that the
//!   bad one was flushed proves damage, and the directory is not opened. While the machine runs, what a
//!   process has written is there: the lock file tells whether the directory was open last since the
//!   machine was started, and then only a record that the file ends within is cut.
//!
//! # What is promised
//! | durability | process killed | machine stopped |
//! |---|---|---|
//! | [`Durability::Durable`] | every acknowledged commit is there, whole | every acknowledged commit is there, whole |
//! | [`Durability::Relaxed`] | every acknowledged commit is there, whole | commits since the last [`flush`](espalier_keyspace::Driver::flush) may be lost, the latest first |

mod commit;
mod config;
mod driver;
mod engine;
mod snapshot;
mod watch;

pub use crate::durability::Durability;
pub use config::{Config, JOURNAL_BYTES};
pub(crate) use driver::open_url;
pub use driver::{Directory, NAME};
pub use engine::JOURNAL_FACTOR;
