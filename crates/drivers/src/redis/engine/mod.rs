//! Connections, scripts and names: all that only this driver needs.

mod block;
mod error;
mod link;
mod names;
mod open;
mod pack;
mod pool;
mod rows;
mod script;
mod upkeep;

pub(super) use block::{Blocks, Kind, tell};
pub(super) use error::{broken, wrong_answer};
pub(super) use link::{Answer, Link, bytes};
pub use open::{DIRECT_BYTES_MAX, FORMAT, LOG_BYTES_MAX, LOG_COMMITS_MAX, UNDO_OPERATIONS_MAX};
pub(super) use open::{Engine, exists, open, promise};
pub(super) use pool::{Lane, backoff};
pub(super) use rows::{InRuns, Part, Rows, Values, bare, stamped};
pub(super) use upkeep::{check, flush, usage};
