//! Paging through the entries of a list or leaf-list.

use espalier_keyspace::KeyRange;
use espalier_yang::NodeId;

use super::super::locate::TreeState;
use super::scan::skip_entry;
use crate::error::Result;

/// The action for a key.
pub(super) enum PageAction {
    /// The key is on the page.
    Read,
    /// The key is before the page; continue with the first key after its entry.
    Skip(Vec<u8>),
    /// The key is after the page.
    End,
}

/// Counts the entries of a scan.
pub(super) struct Paging {
    /// The key of the whole list.
    pub list: Vec<u8>,
    pub node: NodeId,
    /// Remaining entries to skip.
    pub skip: u64,
    /// Remaining entries to read.
    pub remaining: u64,
    /// The first key after the current entry.
    pub end: Vec<u8>,
}

impl Paging {
    /// The length of the key of the entry that a key begins, if it is not in the current entry.
    pub fn begins_entry(&self, key: &[u8], state: &TreeState<'_>) -> Result<Option<usize>> {
        if !self.end.is_empty() && key < self.end.as_slice() {
            return Ok(None);
        }
        let mut rest = &key[self.list.len()..];
        skip_entry(state.schema().node(self.node), &mut rest)?;
        Ok(Some(key.len() - rest.len()))
    }

    /// The action for a key of the list.
    pub fn action(&mut self, key: &[u8], state: &TreeState<'_>) -> Result<PageAction> {
        let Some(entry) = self.begins_entry(key, state)? else {
            return Ok(PageAction::Read);
        };
        let end = KeyRange::prefix(&key[..entry]).end.unwrap_or_default();
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(PageAction::Skip(end));
        }
        if self.remaining == 0 {
            return Ok(PageAction::End);
        }
        self.remaining -= 1;
        self.end = end;
        Ok(PageAction::Read)
    }
}
