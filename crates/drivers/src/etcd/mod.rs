//! A key space in etcd, version 3.4 or later, over gRPC.
//!
//! etcd keeps old revisions, so a snapshot is a revision; a read at a compacted revision fails with
//! `SnapshotTooOld`. Commits are transactions that compare revisions; commits over etcd's limits (128
//! operations, 1.5 MiB) are staged, see [`crate::staged`], which also has the layout of the keys.
//! Every commit writes its changes to one key, the head: a watch of that key receives all commits in
//! order, including past ones that etcd still keeps.
//!
//! The protobuf messages are written as Rust types (`engine/wire.rs`): only a few are needed. The
//! crate `etcd-client` has them all, but needs a protobuf compiler wherever Espalier is built.
//!
//! # Operation
//! - etcd does not delete old revisions by default: start it with `--auto-compaction-retention`, such as
//!   `5m`, and watch its quota (2 GiB by default). A full quota is reported as `Full`.
//! - For each page of a scan, etcd 3.4 walks the index of the whole rest of the range; for a page of a
//!   backward scan it reads the whole rest. etcd is made for small data, and so is this driver.
//! - An acknowledged commit is on the disks of a majority.

mod commit;
mod config;
mod driver;
mod engine;
mod snapshot;
mod watch;

pub use config::{Config, NAME, OPERATIONS, REQUEST_BYTES, TIMEOUT};
pub use driver::Etcd;
pub(crate) use driver::{open_url, resolve_url};
