//! A key space in the memory of this process.
//!
//! The data is in a [`ByteMap`](espalier_keyspace::ByteMap); a snapshot is a constant-time clone. A batch
//! of few operations changes the committed map in place and blocks snapshots for some microseconds: nodes
//! that no snapshot shares are not copied, and copying is most of the cost of changing a clone. Larger
//! batches change a clone, which replaces the map. The `file` driver is this engine with a journal; the
//! memory policies use its parts.

mod commit;
mod config;
mod driver;
mod engine;
mod snapshot;
mod watch;

pub(crate) use commit::{MapWriter, WriteHook};
pub use config::{Config, NAME};
pub use driver::Memory;
pub(crate) use driver::open_url;
pub(crate) use engine::Engine;
pub(crate) use engine::{LatestState, VersionedMap, apply};
pub(crate) use snapshot::MemorySnapshot;
pub(crate) use watch::MemoryWatch;
