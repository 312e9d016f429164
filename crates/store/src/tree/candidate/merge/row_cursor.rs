//! A cursor over rows in memory.

use espalier_keyspace::{Cursor, Direction, Result};

/// Rows with the state of a scan.
pub(super) struct RowCursor {
    /// In key order.
    rows: Vec<(Vec<u8>, Vec<u8>)>,
    direction: Direction,
    /// The number of rows passed since the start of the scan.
    passed: usize,
}

impl RowCursor {
    /// A scan over rows in key order.
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
