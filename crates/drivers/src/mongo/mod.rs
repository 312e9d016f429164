//! A key space in MongoDB or a server with its protocol: a single server, a replica set, a sharded
//! cluster, FerretDB.
//!
//! The driver needs two guarantees of the server: an insert with an existing `_id` is rejected, and a
//! change of one document is atomic. It does not use transactions and change streams, so one protocol
//! works on all servers, and most commits are one command.
//!
//! On a replica set, an acknowledged commit is on a majority of the members, and a read is linearizable:
//! a majority confirms that the primary still is one (`Query::may_be_stale` has the exceptions).
//!
//! # Layout
//! The rows are in a B+ tree whose pages are immutable documents (`engine/tree`). Every process has an
//! overlay in memory, with the changes of the commits since the tree was written. A state is a tree and
//! an overlay. So a small commit is one document, a large one is some pages and a document, and readers
//! of a state are isolated from later commits.
//!
//! Every collection's name begins with the prefix, `espalier.`.
//!
//! | collection | a document |
//! |---|---|
//! | `commits` | a commit, by version: `changes`, unless they are too large; the tree (`root`, `height`) and its version (`of`); the pages of the previous tree that it `freed`; its `transaction`; the time of the commit (`at`) |
//! | `pages` | a page; its `_id` is the transaction and a number |
//! | `drafts` | a transaction that writes pages |
//! | `state` | `format`; `floor`, the oldest version that can be read; `readable`, the version of the rows in `data` |
//! | `data` | a row for human readers, with `readable=true` |
//!
//! MongoDB compares binary `_id`s by length first, so all `_id`s are text: numbers and keys are encoded in
//! letters whose order is that of their values (`engine/names.rs`).
//!
//! # How a commit happens
//! 1. The process applies the batch to the newest state in its memory. If another process has committed
//!    since, step 3 fails.
//! 2. If the commit is large, or the commits since the last tree are (`tail_bytes`, 512 commits), a new
//!    tree is written: its draft and its pages are inserted.
//! 3. The commit is inserted under the next version. It is visible from then on, and acknowledged. Of two
//!    commits with the same version one is rejected, and is retried on the new state.
//!
//! Nothing is left to do after that, so a process that crashes or is suspended leaves no commit half done.
//! A process whose commit with a tree is rejected inserts an empty commit that reserves the next version
//! for it (a turn).
//!
//! # What is deleted
//! Commits and freed pages are kept for five minutes (`keep_ms`); after that, a committing process raises
//! the floor and deletes them. A read of a deleted page fails with `SnapshotTooOld`. A process that was
//! suspended for longer may insert a commit under a version whose commit was deleted: it then reads the
//! floor, and withdraws its commit. Pages without a commit are found by their drafts.

mod commit;
mod config;
mod driver;
mod engine;
mod snapshot;
mod watch;

pub use crate::durability::Durability;
pub use config::{Config, KEEP, NAME, PAGE_BYTES, TAIL_BYTES, TIMEOUT};
pub use driver::Mongo;
pub(crate) use driver::{open_url, resolve_url};
pub use engine::{CACHE_BYTES, VERSION_MAX};
