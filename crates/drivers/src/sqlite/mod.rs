//! A key space in a SQLite file, through `rusqlite` with SQLite compiled in.
//!
//! # Design
//! - **One table without row ids**, `entries (key, value)`. Its B-tree is ordered by the bytes of the key,
//!   so a range of keys is a range of pages, and one statement deletes it. The table `state` holds the
//!   version, which each commit increments in its own transaction.
//! - **Long values in a table of their own.** A search reads each row that it compares with, including its
//!   overflow pages, and in a table without row ids such rows may be near the root: with twenty values of
//!   4 MiB among 20,000 keys, reading any key took 75 us instead of 4. So a value that does not fit on the
//!   page of its row is stored in the table `long_values`, and the entry holds its id.
//! - **Write-ahead log.** Readers and the writer do not block each other. A snapshot is a read transaction
//!   on a connection of its own from a pool (at most [`SNAPSHOTS_MAX`] at the same time).
//! - **One writing connection.** Concurrent commits share a transaction and its flush (`queue.rs`). A commit
//!   waits for writers in other processes up to [`BUSY_TIMEOUT`].
//! - **Paged scans** (`pages.rs`). Each page is a query that starts after the last key. A statement that
//!   stays open would avoid the repeated search, but would have to borrow from the snapshot that owns it.
//! - **No memory-mapped file**, so that a failing disk causes an error and not a signal.
//!
//! # Durability
//! | durability | process killed | machine stopped |
//! |---|---|---|
//! | [`Durability::Durable`] (`synchronous=FULL`) | no acknowledged commit is lost | no acknowledged commit is lost |
//! | [`Durability::Relaxed`] (`synchronous=NORMAL`) | no acknowledged commit is lost | commits since the last [`flush`](espalier_keyspace::Driver::flush) or checkpoint may be lost, the latest first; the others are complete, and the file is consistent |
//!
//! Commits are atomic in all cases.
//!
//! Several processes may open one file, on one machine and a local file system, as the index of the log is
//! shared memory. Each sees the commits of the others in its next snapshot. Its watchers report them as gaps
//! within [`WATCH_POLL`].
//!
//! The header of the file holds an application id and a format version, so databases of other programs and
//! later formats are rejected. SQLite has no checksums of pages: structural damage is detected when it is read
//! or by a check, a flipped bit within a value is not. Records of the log have checksums; the log ends at the
//! first damaged one.
//!
//! A snapshot prevents the log from being reset: while one is open, the log grows with every commit.

mod commit;
mod config;
mod driver;
mod engine;
mod snapshot;
mod watch;

pub use crate::durability::Durability;
pub use config::{Config, NAME};
pub use driver::Sqlite;
pub(crate) use driver::open_url;
pub use engine::{BUSY_TIMEOUT, LOG_BYTES_MAX, SNAPSHOTS_MAX};
pub use watch::WATCH_POLL;
