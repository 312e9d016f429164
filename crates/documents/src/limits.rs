//! The limits. Exceeding one is an error, never truncation.

use std::time::Duration;

/// Bytes in the name of a collection, and in the name of an index.
pub const NAME_BYTES_MAX: usize = 255;

/// Bytes in one stored document: 4 MiB without its header.
pub const DOCUMENT_BYTES_MAX: usize = (4 << 20) - 16;

/// Nesting depth of arrays and objects in a document: such that an export line, which contains a document,
/// and a request can be read by JSON parsers with a depth limit of 128.
pub const DOCUMENT_DEPTH_MAX: usize = 120;

/// The largest key of a document.
pub const KEY_MAX: u64 = i64::MAX as u64;

/// Indexes of one collection.
pub const INDEXES_MAX: usize = 64;

/// Values of one document in one index.
pub const VALUES_MAX: usize = 4096;

/// Components in one value of a compound index.
pub const COMPONENTS_MAX: usize = 4;

/// Bytes in one indexed value, all components together.
pub const VALUE_BYTES_MAX: usize = 1 << 20;

/// Documents that one transaction may change.
pub const TRANSACTION_DOCUMENTS_MAX: usize = 1_000_000;

/// Rows that a group of transactions has read or changed; beyond that no further transaction joins it.
pub const GROUP_ROWS_MAX: usize = 8192;

/// How long a commit of a thousand import lines is retried on conflicts; after that it is divided into
/// halves.
pub const IMPORT_PATIENCE: Duration = Duration::from_secs(1);

/// Documents that one step of an index build, a migration or a repair changes.
pub const STEP_DOCUMENTS: usize = 256;

/// Documents that one transaction of an import inserts.
pub const IMPORT_DOCUMENTS: usize = 1000;

/// Bytes in one line of an import.
pub const LINE_BYTES_MAX: usize = 16 << 20;

/// The default number of documents that the policy `recent` caches.
pub const RECENT_ENTRIES: usize = 10_000;

/// The default size of the documents that the policy `recent` caches: 64 MiB.
pub const RECENT_BYTES: usize = 64 << 20;

/// How long a cache may lag behind the commits of other processes after the engine reports them, in
/// milliseconds. Engines that are polled (LMDB, SQLite) report them within 10 ms.
pub const STALE_MS_MAX: u64 = 100;

/// Documents of a collection that a cache holds, and values of one of its indexes. Beyond that, reads go to the engine.
pub const CACHED_MAX: usize = u32::MAX as usize;
