//! What a proposed state changes, key by key.

use espalier_keyspace::{Direction, KeyRange};

use crate::error::Result;
use crate::keys::TreeId;
use crate::overlay::Overlay;
use crate::subspace::Subspace;

/// A key that holds something else than before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyChange<'a> {
    /// The key.
    pub key: &'a [u8],
    /// What it held; nothing where it was absent.
    pub old: Option<&'a [u8]>,
    /// What it holds now; nothing where it is absent.
    pub new: Option<&'a [u8]>,
}

/// The keys that the log is about: the data, and the order that users gave it.
pub(crate) fn logged_ranges(tree: TreeId) -> [KeyRange; 2] {
    [Subspace::Tree, Subspace::Order].map(|subspace| KeyRange::prefix(&tree.prefix(subspace)))
}

/// Visits every key within `ranges` that an overlay changes: those in deleted ranges first, then
/// those written, each in key order. Nothing is collected, so it may be called again.
pub(crate) fn each_change(
    overlay: &Overlay,
    ranges: &[KeyRange],
    visit: &mut dyn FnMut(KeyChange<'_>) -> Result<()>,
) -> Result<()> {
    let is_within = |key: &[u8]| ranges.iter().any(|range| range.contains(key));
    for cleared in overlay
        .cleared()
        .filter(|cleared| is_within(&cleared.start))
    {
        let is_rewritten = overlay.writes_in(&cleared);
        let mut cursor = overlay.base().scan(&cleared, Direction::Forward)?;
        while let Some((key, old)) = cursor.next()? {
            if is_rewritten && overlay.has_written(key) {
                continue;
            }
            let (old, new) = (Some(old), None);
            visit(KeyChange { key, old, new })?;
        }
    }
    for (key, new) in overlay.written().filter(|(key, _)| is_within(key)) {
        let old = overlay.get_below(key)?;
        let old = old.as_deref();
        if old != new {
            visit(KeyChange { key, old, new })?;
        }
    }
    Ok(())
}
