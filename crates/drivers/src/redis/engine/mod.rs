//! The Redis engine: connections, scripts, the names of Redis keys, and the encoding of batches and replies.

mod batch;
mod check;
mod connection;
mod error;
mod msgpack;
mod names;
mod open;
mod pool;
mod rows;
mod script;

pub(super) use batch::{BatchKind, EncodedBatch, decode_changes};
pub(super) use check::{check, flush, usage};
pub(super) use connection::{Reply, ServerConnection, bytes};
pub(super) use error::{is_transient, unexpected_reply};
pub use open::{DIRECT_BYTES_MAX, FORMAT, LOG_BYTES_MAX, LOG_COMMITS_MAX, UNDO_OPERATIONS_MAX};
pub(super) use open::{Engine, durability, exists, open};
pub(super) use pool::{Session, backoff};
pub(super) use rows::{NewestRows, PageReply, RunLookup, StoredValues, split_stamp, without_stamp};
