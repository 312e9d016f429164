//! The server: connections to it, what is read and written there, and following its log.

mod check;
mod connection;
mod error;
mod facts;
mod follow;
mod format;
mod gaps;
mod log;
mod open;
mod pending;
mod pool;
mod reads;
mod resolve;
mod setup;
mod statements;
mod tls;
mod transaction;

pub(in crate::postgres) use check::{check, flush, usage};
pub(in crate::postgres) use connection::Connection;
pub(in crate::postgres) use error::Failure;
pub(in crate::postgres) use facts::{Facts, Wanted};
pub(in crate::postgres) use follow::Following;
pub use follow::WATCH_POLL;
pub(in crate::postgres) use gaps::Gaps;
pub(in crate::postgres) use log::Record;
pub use log::{LOG_COMMITS_MAX, LOG_RECORD_BYTES_MAX};
pub(in crate::postgres) use open::{Engine, open};
pub use open::{RECONNECT_PATIENCE, SNAPSHOT_PATIENCE};
pub(in crate::postgres) use pending::{Found, Pending};
pub(in crate::postgres) use pool::Lease;
pub(in crate::postgres) use resolve::Outcome;
pub use resolve::RESOLVE_PATIENCE;
pub(in crate::postgres) use setup::Setup;
pub(in crate::postgres) use transaction::Transaction;
pub use transaction::{COMMIT_IDLE_MAX, WRITE_IDLE_MAX};
