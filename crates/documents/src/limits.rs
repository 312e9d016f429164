//! The named limits. Past one is an error, never truncation.

use std::time::Duration;

/// Bytes in the name of a collection, and in the name of an index.
pub const NAME_BYTES_MAX: usize = 255;

/// Bytes in one stored document: 4 MiB less its head.
pub const DOCUMENT_BYTES_MAX: usize = (4 << 20) - 16;

/// Arrays and objects within one another in a document: so many that a line of an export, in which
/// documents stand, and a request can be read by whatever reads JSON up to 128.
pub const DOCUMENT_DEPTH_MAX: usize = 120;

/// The largest key of a document.
pub const KEY_MAX: u64 = i64::MAX as u64;

/// Indexes of one collection.
pub const INDEXES_MAX: usize = 64;

/// Values that one index may have of one document.
pub const VALUES_MAX: usize = 4096;

/// Components in one value of a compound index.
pub const COMPONENTS_MAX: usize = 4;

/// Bytes in one indexed value, all components together.
pub const VALUE_BYTES_MAX: usize = 1 << 20;

/// Documents that one transaction may change.
pub const TRANSACTION_DOCUMENTS_MAX: usize = 1_000_000;

/// Rows that transactions of several threads have read or changed, past which no further one is
/// committed together with them.
pub const GROUP_ROWS_MAX: usize = 8192;

/// How often a transaction is tried with what was read before, until it is tried once in a write,
/// which others wait for where the engine can have them wait. Elsewhere it is tried as before, for
/// [`espalier_keyspace::CONFLICT_PATIENCE`] altogether.
pub const CONFLICTS_MAX: u32 = 8;

/// How long a thousand lines of an import are tried together while others keep getting in their way;
/// then they are tried as two halves.
pub const IMPORT_PATIENCE: Duration = Duration::from_secs(1);

/// Documents that one step of building an index, of a migration or of a repair changes.
pub const STEP_DOCUMENTS: usize = 256;

/// Documents that one transaction of an import inserts.
pub const IMPORT_DOCUMENTS: usize = 1000;

/// Bytes in one line of an import.
pub const LINE_BYTES_MAX: usize = 16 << 20;

/// Documents that the policy `recent` keeps where nothing else is said.
pub const RECENT_ENTRIES: usize = 10_000;

/// Bytes of stored documents that the policy `recent` keeps where nothing else is said: 64 MiB.
pub const RECENT_BYTES: usize = 64 << 20;

/// How long a cache may be behind the commits of other processes after the engine tells of them,
/// in milliseconds. An engine that is asked (LMDB, SQLite) tells within 10 ms.
pub const STALE_MS_MAX: u64 = 100;
