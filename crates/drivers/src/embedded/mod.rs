//! A key space in a directory: LMDB, through `heed`.
//!
//! # Why this way
//! - **No `WRITEMAP`.** Changed pages are kept on the heap until the commit writes them. With a
//!   writable map a full disk would be a `SIGBUS` instead of an error, and a stray pointer could
//!   change the data. The price, memory for changed pages, is bounded: beyond 128 MiB LMDB
//!   spills them to the file (`mdb_idl_logn_14`; its default would be 512 MiB).
//! - **A large map from the start.** Address space costs nothing on a 64-bit machine (the map is
//!   read-only and shared, so it counts for no overcommit limit), and growing a map has to wait
//!   for every snapshot of this process. So [`MAP_BYTES`] are reserved; where that is refused
//!   (`ulimit -v`), half, and half again. A map that fills up is doubled, as another process's is
//!   followed.
//! - **The version is LMDB's transaction number**, so that nothing is written to count commits.
//! - **Commits that come at once share a transaction** and its flush: whoever comes first leads,
//!   the others wait (`queue.rs`). Preconditions of each are tested on what the ones before it
//!   left; one that has to be refused is refused alone.
//! - **No thread-local reader slots**, so that a snapshot may move to another thread.
//!
//! # What is promised
//! | durability | process killed | machine stopped |
//! |---|---|---|
//! | [`Durability::Durable`] | every acknowledged commit is there, whole | every acknowledged commit is there, whole |
//! | [`Durability::Relaxed`] | every acknowledged commit is there, whole | commits since the last [`flush`](espalier_keyspace::Driver::flush) may be lost, and as the operating system writes pages in any order, **the engine may be corrupt**: for data that can be loaded again |
//!
//! Several processes may open one directory, on one machine and a local file system. LMDB's lock
//! file keeps their writers apart; each sees the others' commits in its next snapshot, and its
//! watchers see them as gaps within [`WATCH_POLL`]. Within a process the directory is opened once
//! and shared.
//!
//! A snapshot keeps every page that it can see: a process that holds one for long makes the file
//! grow while others commit.

mod commit;
mod config;
mod driver;
mod engine;
mod snapshot;
mod watch;

pub use crate::durability::Durability;
pub use config::Config;
pub(crate) use driver::open_url;
pub use driver::{Embedded, NAME};
pub use engine::{GROW_PATIENCE, MAP_BYTES, MAP_BYTES_MIN, READERS_MAX, tell_of_damage};
pub use watch::WATCH_POLL;
