//! An open collection.
//!
//! `handle.rs` is the collection handle with its stored definition, `read.rs` and `write.rs` are the
//! operations by key, `many.rs` reads many documents at once, `index.rs` has the operations by the value of
//! an index, `named.rs` reads the documents of index entries. `expected.rs` prefetches the rows of all of
//! these.

mod expected;
mod handle;
mod index;
mod many;
mod named;
mod read;
mod write;

pub use handle::Collection;
pub(crate) use handle::{Opened, load};
pub use index::{Found, Index, Listed};
