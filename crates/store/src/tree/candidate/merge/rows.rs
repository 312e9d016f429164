//! A cursor over rows that are in memory.

use espalier_keyspace::{Cursor, Direction, Result};

/// Keys with their values, and how far a scan over them is.
pub(super) struct RowCursor {
    /// In key order.
    rows: Vec<(Vec<u8>, Vec<u8>)>,
    direction: Direction,
    /// How many rows are passed, from the side that the scan began at.
    passed: usize,
}

impl RowCursor {
    /// A scan over rows that are in key order.
    pub fn new(rows: Vec<(Vec<u8>, Vec<u8>)>, direction: Direction) -> Self {
        Self {
            rows,
            direction,
            passed: 0,
        }
    }
}

impl Cursor for RowCursor {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let index = match self.direction {
            Direction::Forward => Some(self.passed),
            Direction::Backward => self.rows.len().checked_sub(self.passed + 1),
        };
        self.passed += 1;
        let row = index.and_then(|index| self.rows.get(index));
        if row.is_none() {
            self.passed = self.rows.len();
        }
        Ok(row.map(|(key, value)| (key.as_slice(), value.as_slice())))
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.passed = match self.direction {
            Direction::Forward => self.rows.partition_point(|(row, _)| row.as_slice() < key),
            Direction::Backward => {
                let kept = self.rows.partition_point(|(row, _)| row.as_slice() <= key);
                self.rows.len() - kept
            }
        };
        Ok(())
    }
}
