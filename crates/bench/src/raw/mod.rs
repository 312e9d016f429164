//! The engines' own clients, doing what the store made its driver do: the floor that rows are
//! compared with.
//!
//! The same keys and values, the same reads, the same writes in transactions of the same size and
//! durability; no driver, no YANG. Each client does it the way its engine is at its best: sorted
//! sets and hashes, arrays of parameters, pipelines.

mod client;
mod contents;
#[cfg(feature = "etcd")]
mod etcd;
mod journal;
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
