//! The engines' own clients, which replay the reads and writes of the store's driver: the lower bound that rows are
//! compared with.
//!
//! The same keys and values, the same reads, the same writes in transactions of the same size and durability; no
//! driver, no YANG. Each client uses its engine in the most efficient way: sorted sets and hashes, arrays of
//! parameters, pipelines.

mod client;
mod contents;
#[cfg(feature = "etcd")]
mod etcd;
mod file;
mod lmdb;
#[cfg(feature = "mongo")]
mod mongo;
mod open;
#[cfg(any(feature = "postgres", feature = "redis", feature = "mongo"))]
mod operation_runs;
#[cfg(feature = "postgres")]
mod postgres;
mod range_end;
#[cfg(feature = "redis")]
mod redis;
#[cfg(any(feature = "postgres", feature = "etcd", feature = "mongo"))]
mod remote;
mod sqlite;

pub use client::RawEngine;
pub use contents::Contents;
pub use lmdb::Lmdb;
pub use open::{open, remove};
