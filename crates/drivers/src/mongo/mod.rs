//! A key space in MongoDB, or in what speaks its protocol: a single server, a replica set, a sharded
//! cluster, FerretDB.
//!
//! Nothing is asked of the server but that inserting a second document with the same `_id` is
//! refused, and that changing one document is atomic. Servers that have transactions and change
//! streams are used in the same way: one way for all of them, which is one command for most commits.
//!
//! Where there are members, what is acknowledged is on a majority of them, and who reads asks a majority
//! whether the primary is that still (`Query::may_be_late` has the exceptions).
//!
//! # What stands where
//! The rows are in a B+ tree whose pages are documents that never change (`engine/tree`), under what the
//! commits since it was made have changed, which every process has in memory: a state is both. So a small
//! commit is one document, a large one some pages and a document, and who reads a state is not
//! disturbed by later ones.
//!
//! Every collection's name begins with the prefix, `espalier.`.
//!
//! | collection | a document |
//! |---|---|
//! | `commits` | a commit, by version: `changes`, unless they are too many; the tree (`root`, `height`) and the version that it is `of`; the pages of the tree before that it `freed`; its `transaction`; when it was made (`at`) |
//! | `pages` | a page, under the name of its transaction and a number |
//! | `drafts` | a transaction that makes pages |
//! | `state` | `format`; `floor`, the oldest version that can be read; `readable`, up to which version people see rows |
//! | `data` | what people see of a row, with `readable=true` |
//!
//! MongoDB puts binary `_id`s in order of their length first, so all are text, numbers and keys in
//! letters that stand in the order of their values (`engine/names.rs`).
//!
//! # How a commit happens
//! 1. It is worked out on the newest state that this process knows. If there is a newer one, step 3
//!    tells.
//! 2. Where it changes much, or the commits since the tree was made have come to much (`tail_bytes`,
//!    512 commits), a tree with all of that is made: its draft and its pages are inserted.
//! 3. The commit is inserted, under the number that follows. Everybody sees it, and it is acknowledged.
//!    Of two that follow the same version one is refused, and is worked out again.
//!
//! Nothing has to be done after that, so there is nothing that a process that dies, or halts for
//! whatever time, leaves half done. Who is refused with a tree asks, by a commit that changes nothing,
//! that the next one be left to it.
//!
//! # What is deleted
//! Commits and freed pages are kept for five minutes (`keep_ms`); then whoever commits raises the floor
//! and deletes them. A snapshot whose pages are gone is refused as too old. A process that was halted for
//! longer may insert a commit in a place whose commit was deleted: it looks at the floor, and takes its
//! own away. Pages that no commit came to have are found by their drafts.

mod commit;
mod config;
mod driver;
mod engine;
mod snapshot;
mod watch;

pub use crate::durability::Durability;
pub use config::{Config, KEEP, PAGE_BYTES, TAIL_BYTES, TIMEOUT};
pub use driver::{Mongo, NAME};
pub(crate) use driver::{open_url, resolve_url};
pub use engine::{CACHE_BYTES, VERSION_MAX};
