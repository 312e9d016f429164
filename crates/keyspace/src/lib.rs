//! The narrow waist of Espalier: an ordered space of bytes, changed atomically.
//!
//! A *key* is bytes, ordered as bytes; a *value* is bytes. Everything above (trees, statistics,
//! documents) is laid out as key ranges; everything below (LMDB, memory, SQL, ...) is a
//! [`Driver`]. Nothing in this crate knows what the keys mean.
//!
//! The decision behind the contract: it is sized for the weakest engine, one that can test some
//! keys and write some others in one step. There are no interactive transactions. A caller reads
//! from a [`Snapshot`], decides, and hands over a [`Batch`] with the [`Precondition`]s under which
//! its decision holds. Interactive transactions would be easier to use and would exclude etcd and
//! Redis.

mod batch;
mod byte_map;
mod capability;
mod contention;
pub mod counter;
mod driver;
mod error;
mod expected;
mod lens;
mod limits;
pub mod metered;
pub mod packed;
mod range;
mod read_only;
mod residence;
pub mod tuple;

pub use batch::{Batch, Operation, OperationRef, Precondition};
pub use byte_map::{Added, ByteMap, Pairs};
pub use capability::{Capability, WatchKind};
pub use contention::{CONFLICT_PATIENCE, Contention};
pub use driver::{
    Change, Committed, Cursor, Direction, Driver, Existed, Fill, Finding, Snapshot, Step, Usage,
    Version, Watch, WatchEvent, Writer,
};
pub use error::{Error, ErrorKind, Result};
pub use expected::{Expect, Expected};
pub use lens::{Document, EditedDocument, Lens, ReadableRow, Take};
pub use limits::{BATCH_BYTES_MAX, KEY_BYTES_MAX, VALUE_BYTES_MAX, is_key};
pub use range::KeyRange;
pub use read_only::ReadOnly;
pub use residence::{Policy, Residence};
