//! A B+ tree whose nodes are documents that never change.
//!
//! An edit makes new [`page`]s for what it changes and for the way to it, and leaves the old ones,
//! which whoever reads an older state goes on to read. So a tree is the name of its root: nothing of it
//! has to be looked at twice, and what was read can be kept as long as there is room.

mod edit;
mod edits;
mod overlay;
mod page;
mod root;
mod walk;

pub(in crate::mongo) use edit::Make;
pub(in crate::mongo) use edits::Edits;
pub(in crate::mongo) use overlay::Overlay;
pub(in crate::mongo) use page::Page;
pub(in crate::mongo) use root::{Pages, Tree};
