//! A key space in the memory of this process.
//!
//! The keys stand in an immutable B+ tree (`imbl`): a snapshot is a clone of its root, a commit
//! changes a clone and swaps the roots. So snapshots are O(1), readers never wait, and a failed
//! commit is undone by dropping its clone. The alternative, a mutable map behind a lock, reads
//! faster and cannot give a snapshot. The `file` driver is this engine with a journal.

mod commit;
mod config;
mod driver;
mod engine;
mod snapshot;
mod watch;

#[cfg(feature = "file")]
pub(crate) use commit::{Trace, TreeWriter, remove_all};
pub use config::Config;
pub(crate) use driver::open_url;
pub use driver::{Memory, NAME};
#[cfg(feature = "file")]
pub(crate) use engine::Engine;
pub(crate) use engine::{State, Tree, bounds};
pub(crate) use snapshot::{MemorySnapshot, Pairs};
#[cfg(feature = "file")]
pub(crate) use watch::MemoryWatch;
