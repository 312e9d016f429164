//! An open collection.
//!
//! `handle.rs` is the collection handle with its stored definition, `read.rs` and `write.rs` are the
//! operations by key, `read_many.rs` reads many documents at once, `index.rs` has the operations by the value of
//! an index, `entry_documents.rs` reads the documents of index entries. `prefetch.rs` prefetches the rows of all of
//! these.

mod entry_documents;
mod handle;
mod index;
mod open;
mod prefetch;
mod read;
mod read_many;
mod write;

pub use handle::Collection;
pub(crate) use handle::{Opened, load};
pub use index::{Found, Index, ValueCount};
