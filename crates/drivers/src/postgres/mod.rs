//! A key space in tables: PostgreSQL, and what speaks its protocol, through `tokio-postgres`.
//!
//! # Why this way
//! - **Three tables in a schema**: `entries (key, value)`; `state`, one row with the format and the
//!   version; `commits`, what the newest commits changed. Only statements that CockroachDB,
//!   YugabyteDB and Citus have too (`engine/statements.rs`); what is PostgreSQL's own (`NOTIFY`,
//!   some settings) is tried when opening, and left out where it is refused.
//! - **A commit locks the row of the state**, so commits come one after the other in the order of
//!   their versions, whoever makes them, and none needs to be tried again. It takes two round
//!   trips: one to lock and to read all that the batch depends on, one to write and to commit.
//!   Commits that come at once from one process share them. Preconditions and counters are worked
//!   out here, not there.
//! - **A small commit is one statement** (`engine/guess.rs`), where nobody else has committed since:
//!   it is worked out on the guess that the state has the version seen last, that its preconditions
//!   hold and that what it deletes is there, and the statement does nothing where that is not so.
//!   Then, and after another process has committed, it goes the long way. Nine statements in two
//!   round trips became one: 0.35 ms instead of 0.52, where the server alone takes 0.2 ms to write
//!   one row.
//! - **Many rows are copied** (`engine/copy.rs`) where there is nothing yet between the first and the
//!   last of them, which is looked for first: `COPY` takes 190 ms for 100,000 rows, and `INSERT`,
//!   which has to expect each to be there, 490.
//! - **A snapshot is a transaction** that is repeatable and read-only, on a connection of its own
//!   from a bounded pool. Beginning it takes a round trip, in which the version is read, and what
//!   whoever takes it says that they will read; its end is sent and not waited for.
//! - **A streamed write remembers where nothing is** (`engine/gaps.rs`): a load looks before it
//!   writes, key after key, and must not wait for the server each time.
//! - **Whoever calls drives the connection**, in the calling thread (`engine/connection.rs`): an
//!   answer does not have to wake a second thread. Calls must not come from asynchronous code,
//!   which they would block anyway.
//! - **A commit whose answer is lost is looked for.** Its version and its number stand in `commits`.
//!   Whoever looks takes the lock first, so the lost transaction has ended by then: either its row
//!   is there, or it never will be. Then it is done again, or an error says that nothing was
//!   written. Only where the server stays away is the outcome told as unknown.
//!
//! # What is promised
//! | durability | a process of ours killed | the server killed, or its machine stopped |
//! |---|---|---|
//! | [`Durability::Durable`] (the server's own setting) | every acknowledged commit is there, whole | every acknowledged commit is there, whole |
//! | [`Durability::Relaxed`] (`synchronous_commit=off`) | every acknowledged commit is there, whole | commits of the last moments (three times `wal_writer_delay`, so 0.6 s) may be lost, the latest first; the rest is whole |
//!
//! Whatever the server is set to (`fsync=off`) or does when it fails over to a copy that lags is
//! beyond this driver.
//!
//! # Several processes
//! Each follows `commits`, which the server pushes (`LISTEN`) or which is asked for every
//! [`WATCH_POLL`]. Its rows are kept for [`LOG_COMMITS_MAX`] commits; a row of more than
//! [`LOG_RECORD_BYTES_MAX`] says that there was a change, not which, and shows as a gap.
//!
//! A process that halts in the middle of a commit keeps others from committing until the server
//! ends its transaction ([`COMMIT_IDLE_MAX`]; [`WRITE_IDLE_MAX`] for a streamed write).

mod commit;
mod config;
mod driver;
mod engine;
mod snapshot;
mod watch;

pub use crate::credentials::Identity;
pub use crate::durability::Durability;
pub use config::{CONNECT_TIMEOUT, Config, SNAPSHOTS_MAX, STATEMENT_TIMEOUT, Security};
pub use driver::{NAME, NAME_LONG, Postgres};
pub(crate) use driver::{effective_durability_url, open_url, resolve_url};
pub use engine::{
    COMMIT_IDLE_MAX, LOG_COMMITS_MAX, LOG_RECORD_BYTES_MAX, RECONNECT_PATIENCE, RESOLVE_PATIENCE,
    SNAPSHOT_PATIENCE, WATCH_POLL, WRITE_IDLE_MAX,
};
