//! Compiled schema sets, kept in the store so that opening one compiles nothing.
//!
//! What is kept is derived: it is written after a compilation, read back if it fits (the same modules,
//! features and numbers of nodes, compiled by the same code) and its bytes have the digest that they
//! were written with, and made anew otherwise. Nothing depends on it being there. Copies and backups leave
//! it out.
//!
//! - [`content`]: the parts, compressed one by one; those with nodes are unpacked when a node in them is
//!   looked at.
//! - [`marks`]: what is known of whole subtrees, which is a part too.
//! - [`fit`]: what it was made from.
//! - [`rows`]: reading and writing them as rows of [`Subspace::Compiled`].
//!
//! [`Subspace::Compiled`]: crate::subspace::Subspace::Compiled

mod content;
mod fit;
mod marks;
mod rows;

pub(crate) use content::Content;
pub(crate) use fit::fit;
pub(crate) use marks::Marks;
pub(crate) use rows::{read, rows_of, write};
