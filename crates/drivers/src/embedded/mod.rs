//! A key space in a directory: LMDB, through `heed`, under a journal.
//!
//! # Why this way
//! - **A journal.** A commit of some rows is one write to the end of a file, and one flush; LMDB gets the
//!   rows later, many at once. What LMDB would write for it is a page for each row and the pages above
//!   them: adding a document with six entries of indexes among 250,000 took 37 us and takes 8, a durable
//!   commit of one leaf 250 us and 125 (`engine/journal/`). What is large goes to LMDB alone.
//! - **No `WRITEMAP`.** Changed pages are kept on the heap until the commit writes them. With a
//!   writable map a full disk would be a `SIGBUS` instead of an error, and a stray pointer could
//!   change the data. The price, memory for changed pages, is bounded: beyond 128 MiB LMDB
//!   spills them to the file (`mdb_idl_logn_14`; its default would be 512 MiB).
//! - **A large map from the start.** Address space costs nothing on a 64-bit machine (the map is
//!   read-only and shared, so it counts for no overcommit limit), and growing a map has to wait
//!   for every snapshot of this process. So [`MAP_BYTES`] are reserved, or what is asked for, but always
//!   [`HEADROOM_BYTES`] more than the file has, unless the address space of the process is limited
//!   (`ulimit -v`). Where the system refuses, half is reserved, and half again. A map that fills up is doubled,
//!   as another process's is followed.
//! - **A write that fails gives its disk space back.** LMDB writes changed pages behind the end of its file
//!   before it commits them. Where the commit fails, the file keeps them, and the journal finds the disk full:
//!   so the file is cut after the last page that counts, by the process that failed or, after a kill, by the
//!   next one that opens the directory or commits.
//! - **A read-only file system is read without locks.** The environment is opened read-only, and what the
//!   journal holds is read into memory; every commit is refused.
//! - **Commits that come at once share a frame of the journal** and its flush: whoever comes first leads,
//!   the others wait (`queue.rs`). Preconditions of each are tested on what the ones before it
//!   left; one that has to be refused is refused alone.
//! - **No thread-local reader slots**, so that a snapshot may move to another thread.
//!
//! # What is promised
//! | durability | process killed | machine stopped |
//! |---|---|---|
//! | [`Durability::Durable`] | every acknowledged commit is there, whole | every acknowledged commit is there, whole |
//! | [`Durability::Relaxed`] | every acknowledged commit is there, whole | commits since the last [`flush`](espalier_keyspace::Driver::flush) may be lost: all from one on, none in the middle |
//!
//! Several processes may open one directory, on one machine and a local file system. The lock of the
//! journal keeps those apart that commit; each sees the others' commits in its next snapshot, and its
//! watchers are told of them within [`WATCH_POLL`]: what went to LMDB alone as a gap. Within a process the directory is opened once
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
pub use config::{Config, JOURNAL_BYTES, JOURNAL_BYTES_MAX, JOURNAL_BYTES_MIN};
pub(crate) use driver::open_url;
pub use driver::{Embedded, NAME};
pub use engine::{
    GROW_PATIENCE, HEADROOM_BYTES, MAP_BYTES, MAP_BYTES_MIN, READERS_MAX, tell_of_damage,
};
pub use watch::WATCH_POLL;
