//! A tree, and where its pages are read.

use std::sync::Arc;

use espalier_keyspace::Result;

use super::super::error::corrupt;
use super::Page;

/// A tree of pages; empty where it has no root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::mongo) struct Tree {
    /// The name of the page that everything is below.
    pub(in crate::mongo) root: Option<Arc<str>>,
    /// How many pages there are on the way from the root to a row, without that of the row.
    pub(in crate::mongo) height: usize,
}

/// Where pages are read.
pub(in crate::mongo) trait Pages {
    /// The pages of some names, in their order.
    fn pages(&self, names: &[&str]) -> Result<Vec<Arc<Page>>>;

    /// The page of a name.
    fn page(&self, name: &str) -> Result<Arc<Page>> {
        let found = self.pages(&[name])?.pop();
        found.ok_or_else(|| corrupt("a page"))
    }

    /// Has pages that are going to be read one by one brought at once, as far as there is room for
    /// them.
    fn expect(&self, _names: &[&str]) -> Result<()> {
        Ok(())
    }
}
