//! An open collection.
//!
//! `handle.rs` is the collection and what it knows of what is stored, `read.rs` and `write.rs` what
//! is done with documents by key, `index.rs` what is done by the value of an index.

mod handle;
mod index;
mod read;
mod write;

pub use handle::Collection;
pub(crate) use handle::Opened;
pub use index::{Found, Index, Listed};
