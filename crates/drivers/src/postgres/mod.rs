//! A key space in tables of PostgreSQL, or of a server with its protocol, through `tokio-postgres`.
//!
//! # Design
//! - **Three tables in a schema**: `entries (key, value)`; `state`, one row with the format and the
//!   version; `commits`, the log with the changes of the newest commits. All statements are also supported by
//!   CockroachDB, YugabyteDB and Citus (`engine/statements.rs`). Features of PostgreSQL alone (`NOTIFY`,
//!   some settings) are tried on opening, and not used if the server rejects them.
//! - **A commit locks the row of the state**, so commits of all processes are serialized in the order of
//!   their versions, and none has to be retried because of a conflict. It takes two round trips: one to lock and to
//!   read the read set of the batch, one to write and to commit. Concurrent commits of one process share a
//!   transaction. Preconditions and counters are evaluated in the driver, not in the server.
//! - **A small commit is one statement** (`engine/optimistic.rs`), if no other process has committed in between.
//!   It assumes that the state has the version seen last, that its preconditions hold, and that everything
//!   it deletes exists; the statement does nothing if an assumption is wrong. Then, and after another process has
//!   committed, the two round trips are used. This replaced nine statements in two round trips: 0.35 ms
//!   instead of 0.52, where the server alone takes 0.2 ms to write one row.
//! - **Many rows are copied** (`engine/copy.rs`), if a query shows that there is no row yet between the first and
//!   the last of them: `COPY` takes 190 ms for 100,000 rows, and `INSERT`, which must handle that a row exists,
//!   490.
//! - **A snapshot is a transaction** with repeatable reads, read-only, on a connection of its own from a bounded
//!   pool. Its first round trip reads the version and prefetches what the caller expects to read. Its end is
//!   sent without waiting for the response.
//! - **A streamed write stores which ranges are empty** (`engine/empty_ranges.rs`): a load reads each key before
//!   it writes it, and must not wait for the server each time.
//! - **The calling thread drives the connection** (`engine/connection.rs`), so that a response does not have to
//!   wake a second thread. Do not call from asynchronous code: calls block.
//! - **The outcome of a commit is resolved if its response is lost** (`engine/lost_response.rs`). Its version and id are in
//!   `commits`. The query for them takes the lock first, so the lost transaction has ended by then: its row
//!   exists, or will never exist. If it does not exist, the commit is retried, or an error states that nothing was
//!   written. Only if the server stays unreachable is the outcome reported as unknown.
//!
//! # Durability
//! | durability | a client process killed | the server killed, or its machine stopped |
//! |---|---|---|
//! | [`Durability::Durable`] (the server's own setting) | no acknowledged commit is lost | no acknowledged commit is lost |
//! | [`Durability::Relaxed`] (`synchronous_commit=off`) | no acknowledged commit is lost | commits of the last 0.6 s (three times `wal_writer_delay`) may be lost, the latest first; the others are complete |
//!
//! Commits are atomic in all cases. The driver cannot protect against settings of the server (`fsync=off`), or a
//! failover to a replica that lags.
//!
//! # Several processes
//! Each process follows `commits`: the server notifies it (`LISTEN`), or it polls every [`WATCH_POLL`]. Rows are kept
//! for [`LOG_COMMITS_MAX`] commits. Changes of more than [`LOG_RECORD_BYTES_MAX`] are not stored in the row, and
//! watchers report the commit as a gap.
//!
//! A process that stops in the middle of a commit blocks the commits of others until the server
//! ends its transaction ([`COMMIT_IDLE_MAX`]; [`WRITE_IDLE_MAX`] for a streamed write).

mod commit;
mod config;
mod driver;
mod engine;
mod snapshot;
mod watch;

pub use crate::credentials::Identity;
pub use crate::durability::Durability;
pub use config::{
    CONNECT_TIMEOUT, Config, NAME, NAME_LONG, SNAPSHOTS_MAX, STATEMENT_TIMEOUT, Security,
};
pub use driver::Postgres;
pub(crate) use driver::{effective_durability_url, open_url, resolve_url};
pub use engine::{
    COMMIT_IDLE_MAX, LOG_COMMITS_MAX, LOG_RECORD_BYTES_MAX, RECONNECT_TIMEOUT, RESOLVE_TIMEOUT,
    SNAPSHOT_TIMEOUT, WATCH_POLL, WRITE_IDLE_MAX,
};
