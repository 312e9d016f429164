//! A copy-on-write B+ tree whose nodes are immutable documents.
//!
//! An edit writes new [`page`]s for the changed leaves and their ancestors, and leaves the old pages to
//! readers of older states. So the name of its root identifies a tree, and pages are cached without
//! revalidation.

mod editor;
mod edits;
mod overlay;
mod page;
mod read;
mod root;

pub(in crate::mongo) use editor::PageSink;
pub(in crate::mongo) use edits::Edits;
pub(in crate::mongo) use overlay::Overlay;
pub(in crate::mongo) use root::{PageSource, Tree};
