//! SQLite: its connections and transactions, how a file is opened and examined.

mod check;
mod connection;
mod error;
mod format;
mod log;
mod long_value;
mod open;
mod pool;
mod readable;
mod transaction;

pub(in crate::sqlite) use check::{check, usage};
pub use connection::BUSY_PATIENCE;
pub(in crate::sqlite) use error::engine_error;
pub(in crate::sqlite) use long_value::{pairs, value};
pub use open::LOG_BYTES_MAX;
pub(in crate::sqlite) use open::{Engine, open};
pub(in crate::sqlite) use pool::Reader;
pub use pool::SNAPSHOTS_MAX;
pub(in crate::sqlite) use readable::{fill_in, show};
pub(in crate::sqlite) use transaction::Transaction;
