//! A key space in etcd, version 3.4 or later, over gRPC.
//!
//! etcd keeps old revisions, so a snapshot is a revision; when it has been compacted away, the
//! snapshot is refused as too old. Commits are transactions that compare revisions; what is over
//! etcd's limits (128 operations, 1.5 MiB) is staged, see [`crate::staged`], which also has the
//! layout of the keys. Every commit writes one key, the head, with what it changed: watching that
//! key tells of all commits in order, from the past too as far as etcd keeps it.
//!
//! The messages are the few that are needed, written down as Rust types (`engine/wire.rs`). The
//! crate `etcd-client` has them all, and needs a protobuf compiler wherever Espalier is built.
//!
//! # What to know
//! - etcd never forgets by itself: start it with `--auto-compaction-retention`, such as `5m`, and
//!   mind its quota (2 GiB by default). A full one is an error that says so.
//! - A page of a scan costs etcd 3.4 a walk over the index of the whole rest of the range, and
//!   a page of a backward scan reads the whole rest. It is made for small data; so is this driver.
//! - What is acknowledged is on the disks of a majority.

mod commit;
mod config;
mod driver;
mod engine;
mod snapshot;
mod watch;

pub use config::{Config, OPERATIONS, REQUEST_BYTES, TIMEOUT};
pub use driver::{Etcd, NAME};
pub(crate) use driver::{open_url, resolve_url};
