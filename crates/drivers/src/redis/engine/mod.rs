//! Connections, scripts and names: all that only this driver needs.

mod block;
mod error;
mod link;
mod names;
mod open;
mod pool;
mod script;
mod upkeep;

pub(super) use block::{Blocks, changes_of};
pub(super) use error::{broken, wrong_answer};
pub(super) use link::{Answer, Link, bytes};
pub(super) use names::{escaped, key_of, undo_member};
pub use open::{DIRECT_BYTES_MAX, FORMAT, LOG_BYTES_MAX, LOG_COMMITS_MAX, UNDO_OPERATIONS_MAX};
pub(super) use open::{Engine, open};
pub(super) use pool::{Lane, backoff};
pub(super) use upkeep::{check, flush, usage};
