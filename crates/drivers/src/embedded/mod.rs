//! A key space in a directory: LMDB, through `heed`, under a journal.
//!
//! # Design
//! - **A journal.** A commit of some rows is one write to the end of a file, and one flush; rows are merged
//!   into LMDB later, many at once. LMDB would write a page for each row and the pages above them: adding a
//!   document with six index entries among 250,000 took 37 us and takes 8, a durable commit of one leaf 250
//!   us and 125 (`engine/journal/`). Large changes go to LMDB directly.
//! - **No `WRITEMAP`.** Changed pages are kept on the heap until the commit writes them. With a writable
//!   map a full disk would be a `SIGBUS` instead of an error, and a stray pointer could change the data.
//!   The cost, memory for changed pages, is bounded: beyond 128 MiB LMDB spills them to the file
//!   (`mdb_idl_logn_14`; its default would be 512 MiB).
//! - **A large map from the start.** Address space costs nothing on a 64-bit machine (the map is read-only
//!   and shared, so it counts for no overcommit limit), and growing a map has to wait for every snapshot of
//!   this process. So [`MAP_BYTES`] are reserved, or the configured size, but always [`HEADROOM_BYTES`]
//!   more than the file, unless the address space of the process is limited (`ulimit -v`). If the system
//!   refuses, half is reserved, and half again. A full map is doubled; the map also follows another
//!   process's.
//! - **A failed write releases its disk space.** LMDB writes changed pages beyond the end of its file
//!   before it commits them. If the commit fails, the file keeps them, and the journal finds the disk full.
//!   So the file is truncated after the last valid page: by the process that failed or, after a kill, by
//!   the next one that opens the directory or commits.
//! - **A read-only file system is read without locks.** The environment is opened read-only, the journal is
//!   read into memory, and every commit is rejected.
//! - **Concurrent commits share a frame of the journal** and its flush: the first thread becomes the
//!   leader, the others wait (`group_commit_queue.rs`). The preconditions of each are tested on the state after
//!   the ones before it; a batch that fails does not affect the others.
//! - **No thread-local reader slots**, so that a snapshot may move to another thread.
//!
//! # Guarantees
//! | durability | process killed | machine crashed |
//! |---|---|---|
//! | [`Durability::Durable`] | every acknowledged commit is kept, atomically | every acknowledged commit is kept, atomically |
//! | [`Durability::Relaxed`] | every acknowledged commit is kept, atomically | commits since the last [`flush`](espalier_keyspace::Driver::flush) may be lost: all after a certain one, none in between |
//!
//! Several processes may open one directory, on one machine and a local file system. The lock of the
//! journal serializes their commits. Each sees the others' commits in its next snapshot, and its watchers
//! within [`WATCH_POLL`]; commits that went to LMDB directly are reported as a gap. Within a process the
//! directory is opened once and shared.
//!
//! A snapshot retains every page that it can see: a process that holds one for a long time makes the file
//! grow while other processes commit.

mod commit;
mod config;
mod driver;
mod engine;
mod snapshot;
mod watch;

pub use crate::durability::Durability;
pub use config::{Config, JOURNAL_BYTES, JOURNAL_BYTES_MAX, JOURNAL_BYTES_MIN, NAME};
pub use driver::Embedded;
pub(crate) use driver::open_url;
pub use engine::{
    GROW_TIMEOUT, HEADROOM_BYTES, MAP_BYTES, MAP_BYTES_MIN, READERS_MAX, install_damage_handler,
};
pub use watch::WATCH_POLL;
