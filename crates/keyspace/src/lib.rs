//! The storage contract of Espalier: an ordered key-value space of bytes with atomic batches.
//!
//! Keys and values are bytes; keys are ordered bytewise. The layers above (trees, statistics, documents)
//! map their data to key ranges; the engines below (LMDB, memory, SQL, ...) implement [`Driver`]. This
//! crate does not interpret keys.
//!
//! The contract is sized for the weakest engine: one that can test some keys and write some others in one
//! atomic step. There are no interactive transactions. A caller reads from a [`Snapshot`], decides, and
//! commits a [`Batch`] with the [`Precondition`]s under which its decision holds. Interactive transactions
//! would be easier to use, but would exclude etcd and Redis.

mod batch;
mod byte_map;
mod cache_policy;
mod capability;
pub mod compact_encoding;
mod conflict_retry;
pub mod counter;
mod driver;
mod error;
mod extension;
mod forward;
mod group_queue;
mod limits;
pub mod metered;
mod prefetch;
mod range;
mod read_only;
mod readable;
mod transact;
pub mod tuple;
mod version;

pub use batch::{Batch, Operation, OperationRef, Precondition};
pub use byte_map::{ByteMap, ByteMapCursor, CounterUpdate};
pub use cache_policy::{CacheStatus, Policy};
pub use capability::{Capability, WatchKind};
pub use conflict_retry::{CONFLICT_TIMEOUT, ConflictRetry, OPTIMISTIC_CONFLICTS_MAX};
pub use driver::{
    Change, Committed, Cursor, Direction, Driver, Finding, KeyExisted, Snapshot, Step, Usage,
    Watch, WatchEvent, WriteBody, Writer,
};
pub use error::{Error, ErrorKind, Result};
pub use extension::{DriverExtension, Purpose};
pub use group_queue::{GroupQueue, GroupWork};
pub use limits::{BATCH_BYTES_MAX, KEY_BYTES_MAX, VALUE_BYTES_MAX, is_key};
pub use prefetch::{Prefetch, PrefetchList};
pub use range::KeyRange;
pub use read_only::ReadOnly;
pub use readable::{Document, EditedDocument, ImportDocument, Lens, ReadableRow};
pub use transact::{KeyspaceCause, Propose, Transact, retry_conflicts, retry_too_old, write};
pub use version::Version;
