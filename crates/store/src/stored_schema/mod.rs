//! Compiled schema sets, stored so that opening a store does not compile them again.
//!
//! The stored form is derived data. It is written after a compilation, and used if its fingerprint matches
//! (same modules, features and node numbers, compiled by the same code) and its bytes match their digest;
//! otherwise the set is compiled again. It may be missing at any time. Copies and backups do not include it.
//!
//! - [`content`]: the parts, compressed separately; parts with nodes are unpacked on the first access to one
//!   of their nodes.
//! - [`subtree_flags`]: precomputed properties of subtrees; also stored as a part.
//! - [`fingerprint`]: the fingerprint of the inputs.
//! - [`rows`]: reading and writing rows of [`Subspace::Compiled`].
//!
//! [`Subspace::Compiled`]: crate::subspace::Subspace::Compiled

mod content;
mod fingerprint;
mod rows;
mod subtree_flags;

pub(crate) use content::Content;
pub(crate) use fingerprint::fingerprint;
pub(crate) use rows::{read, rows_of, write};
pub(crate) use subtree_flags::SubtreeFlags;
