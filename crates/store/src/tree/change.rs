//! The changes of a proposed state, key by key.

use espalier_keyspace::{Direction, KeyRange};

use crate::error::Result;
use crate::keys::TreeId;
use crate::overlay::Overlay;
use crate::subspace::Subspace;

/// A key with a changed value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyChange<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The old value; none if it was absent.
    pub old: Option<&'a [u8]>,
    /// The new value; none if it is absent.
    pub new: Option<&'a [u8]>,
}

/// The key ranges that the log covers: the data and the user-defined order.
pub(crate) fn logged_ranges(tree: TreeId) -> [KeyRange; 2] {
    [Subspace::Tree, Subspace::Order].map(|subspace| KeyRange::prefix(&tree.prefix(subspace)))
}

/// Visits every key within `ranges` that an overlay changes: first those in deleted ranges, then those
/// written, each in key order. May be called repeatedly.
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
        let old = overlay.get_from_base(key)?;
        let old = old.as_deref();
        if old != new {
            visit(KeyChange { key, old, new })?;
        }
    }
    Ok(())
}
