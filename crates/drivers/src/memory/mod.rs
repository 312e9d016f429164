//! A key space in the memory of this process.
//!
//! The keys stand in a [`ByteMap`](espalier_keyspace::ByteMap): a snapshot is a clone of it, in
//! constant time. A batch of few operations changes the committed map where it is, for some
//! microseconds in which no snapshot is taken: what no snapshot holds is not copied, which is most of
//! what a change of a clone costs. Anything larger changes a clone, which replaces the map. The `file`
//! driver is this engine with a journal, and the memory policies are made of its parts.

mod commit;
mod config;
mod driver;
mod engine;
mod snapshot;
mod watch;

#[cfg(feature = "file")]
pub(crate) use commit::{MapWriter, Trace};
pub use config::Config;
pub(crate) use driver::open_url;
pub use driver::{Memory, NAME};
#[cfg(feature = "file")]
pub(crate) use engine::Engine;
pub(crate) use engine::{Newest, State, apply};
pub(crate) use snapshot::MemorySnapshot;
#[cfg(feature = "file")]
pub(crate) use watch::MemoryWatch;
