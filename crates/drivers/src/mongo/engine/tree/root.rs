//! A tree, identified by its root page, and the source of its pages.

use std::sync::Arc;

use espalier_keyspace::Result;

use super::super::error::corrupt;
use crate::page::Page;

/// A tree of pages; empty if it has no root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::mongo) struct Tree {
    /// The name of the root page.
    pub(in crate::mongo) root: Option<Arc<str>>,
    /// The number of inner pages on the path from the root to a leaf.
    pub(in crate::mongo) height: usize,
}

/// Reads pages by name.
pub(in crate::mongo) trait PageSource {
    /// The pages with the given names, in that order.
    fn pages(&self, names: &[&str]) -> Result<Vec<Arc<Page>>>;

    /// The page with a name.
    fn page(&self, name: &str) -> Result<Arc<Page>> {
        let found = self.pages(&[name])?.pop();
        found.ok_or_else(|| corrupt("invalid page"))
    }

    /// Reads several pages into the cache, as far as it has room, before they are used one by one.
    fn prefetch(&self, _names: &[&str]) -> Result<()> {
        Ok(())
    }
}
