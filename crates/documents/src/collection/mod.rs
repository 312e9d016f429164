//! An open collection.
//!
//! `handle.rs` is the collection and what it knows of what is stored, `read.rs` and `write.rs` what
//! is done with documents by key, `many.rs` reads many at once, `index.rs` is what is done by the
//! value of an index, `named.rs` reads the documents that its entries name. `expected.rs` tells
//! beforehand what all of these read.

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
