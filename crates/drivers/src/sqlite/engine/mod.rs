//! The SQLite engine: connections, transactions, opening and checking a file.

mod check;
mod connection;
mod error;
mod format;
mod long_value;
mod open;
mod pool;
mod readable;
mod transaction;
mod wal;

pub(in crate::sqlite) use check::{check, usage};
pub use connection::BUSY_TIMEOUT;
pub(in crate::sqlite) use error::engine_error;
pub(in crate::sqlite) use long_value::{pairs, value};
pub use open::LOG_BYTES_MAX;
pub(in crate::sqlite) use open::{Engine, open};
pub(in crate::sqlite) use pool::Reader;
pub use pool::SNAPSHOTS_MAX;
pub(in crate::sqlite) use readable::{fill_in, set_columns};
pub(in crate::sqlite) use transaction::Transaction;
