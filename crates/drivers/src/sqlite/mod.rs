//! A key space in a file: SQLite, through `rusqlite`, compiled in.
//!
//! # Why this way
//! - **One table without row numbers**, `entries (key, value)`: its B-tree is ordered by the key's
//!   bytes, so a range of keys is a range of pages, and deleting one is one statement. `state`
//!   holds the version, which each commit raises in its own transaction.
//! - **Long values beside the entries.** A row that does not fit on its page is read whole by every
//!   search that passes by, and a B-tree whose rows are its keys has some of them near its root: with
//!   twenty values of 4 MiB among 20,000 keys, reading any key took 75 us instead of 4. So a value
//!   that is too long for its row lies in the table `long_values`, and the entry has its number.
//! - **Write-ahead log.** Readers never wait for the writer, nor it for them. A snapshot is a read
//!   transaction on a connection of its own, which comes from a pool (at most [`SNAPSHOTS_MAX`] at
//!   once) and goes back to it.
//! - **One writing connection.** Commits that come at once share a transaction and its flush
//!   (`commit_queue.rs`); other processes are waited for ([`BUSY_PATIENCE`]).
//! - **Scans in pages** (`paged_cursor.rs`), each a query for what follows the last key. A statement that
//!   stays open would save the descent, and would have to borrow from the snapshot that owns it.
//! - **No mapped file.** A failing disk is then an error and not a signal.
//!
//! # What is promised
//! | durability | process killed | machine stopped |
//! |---|---|---|
//! | [`Durability::Durable`] (`synchronous=FULL`) | every acknowledged commit is there, whole | every acknowledged commit is there, whole |
//! | [`Durability::Relaxed`] (`synchronous=NORMAL`) | every acknowledged commit is there, whole | commits since the last [`flush`](espalier_keyspace::Driver::flush) or checkpoint may be lost, the latest first; those that are there are whole, and the file is sound |
//!
//! Several processes may open one file, on one machine and a local file system (the log's index is
//! shared memory). Each sees the others' commits in its next snapshot, and its watchers see them as
//! gaps within [`WATCH_POLL`].
//!
//! The file is marked with an application id and a format version, so that another program's
//! database, or a later format, is refused. SQLite keeps no checksums of its pages: damage to the
//! structure is found (by reading it, or by a check), a bit flipped within a value is not. A record
//! of the log has a checksum; at a damaged one the log ends.
//!
//! A snapshot keeps the log from being emptied: while one is held the log grows with every commit.

mod commit;
mod config;
mod driver;
mod engine;
mod snapshot;
mod watch;

pub use crate::durability::Durability;
pub use config::Config;
pub(crate) use driver::open_url;
pub use driver::{NAME, Sqlite};
pub use engine::{BUSY_PATIENCE, LOG_BYTES_MAX, SNAPSHOTS_MAX};
pub use watch::WATCH_POLL;
