//! The content of an engine.

use espalier_keyspace::{Direction, Driver, KeyRange};

/// A key and its value.
pub type Row = (Vec<u8>, Vec<u8>);

/// The rows of a range, in the order of their keys.
pub fn rows(driver: &dyn Driver, range: &KeyRange) -> Vec<Row> {
    let snapshot = driver.snapshot().expect("a snapshot");
    let mut cursor = snapshot.scan(range, Direction::Forward).expect("a scan");
    let mut rows = Vec::new();
    while let Some((key, value)) = cursor.next().expect("a step") {
        rows.push((key.to_vec(), value.to_vec()));
    }
    rows
}
