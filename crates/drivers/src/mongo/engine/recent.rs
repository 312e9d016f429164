//! What this process has just read of one state, so that the commit that follows does not ask again.

use std::collections::BTreeMap;

use crate::staged::engine::Cell;

/// Bytes that are kept at most: 1 MiB.
const BYTES_MAX: usize = 1 << 20;

/// What a row takes beside its bytes, about.
const ROW_BYTES: usize = 200;

/// A version of a cell.
#[derive(Clone)]
pub(in crate::mongo) struct Row {
    pub(in crate::mongo) id: String,
    pub(in crate::mongo) cell: Cell,
}

/// The versions of cells that were found at one revision; what holds at a revision never changes.
#[derive(Default)]
pub(in crate::mongo) struct Recent {
    revision: u64,
    /// `None` for cells that are not there.
    found: BTreeMap<Vec<u8>, Option<Row>>,
    bytes: usize,
}

impl Recent {
    /// Keeps what was found of some cells, unless it was at an older revision.
    pub(in crate::mongo) fn learn(&mut self, revision: u64, cells: &[&[u8]], rows: &[Row]) {
        if revision < self.revision {
            return;
        }
        if revision > self.revision || self.bytes > BYTES_MAX {
            *self = Self {
                revision,
                ..Self::default()
            };
        }
        for cell in cells {
            self.bytes += cell.len() + ROW_BYTES;
            self.found.entry(cell.to_vec()).or_default();
        }
        for row in rows {
            self.bytes += row.id.len() + row.cell.key.len() + row.cell.value.len();
            self.found.insert(row.cell.key.clone(), Some(row.clone()));
        }
    }

    /// What was found of a cell at a revision, where that is known.
    pub(in crate::mongo) fn recall(&self, revision: u64, cell: &[u8]) -> Option<&Option<Row>> {
        (revision == self.revision)
            .then(|| self.found.get(cell))
            .flatten()
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(key: &[u8], bytes: usize) -> Row {
        Row {
            id: "id".to_owned(),
            cell: Cell {
                key: key.to_vec(),
                value: vec![0; bytes],
                created: 1,
                modified: 1,
            },
        }
    }

    #[test]
    fn one_revision_is_known_and_the_newest_of_all() {
        let mut recent = Recent::default();
        recent.learn(5, &[b"a", b"b"], &[row(b"a", 1)]);
        assert!(recent.recall(5, b"a").is_some_and(Option::is_some));
        assert!(recent.recall(5, b"b").is_some_and(Option::is_none));
        assert!(recent.recall(5, b"c").is_none() && recent.recall(4, b"a").is_none());
        recent.learn(4, &[b"c"], &[]);
        assert!(recent.recall(4, b"c").is_none() && recent.recall(5, b"c").is_none());
        recent.learn(6, &[b"c"], &[]);
        assert!(recent.recall(5, b"a").is_none() && recent.recall(6, b"a").is_none());
        assert!(recent.recall(6, b"c").is_some());
        recent.clear();
        assert!(recent.recall(6, b"c").is_none());
    }

    #[test]
    fn it_is_bounded() {
        let mut recent = Recent::default();
        for number in 0..100_u8 {
            recent.learn(5, &[&[number]], &[row(&[number], BYTES_MAX / 4)]);
            assert!(recent.found.len() < 10);
        }
    }
}
