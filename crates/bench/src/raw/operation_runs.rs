//! Groups the operations of a commit into runs of the same kind.

use espalier_keyspace::{KeyRange, Operation};

/// Consecutive operations of the same kind.
pub enum Run<'a> {
    /// Keys and their values.
    Puts(Vec<(&'a [u8], &'a [u8])>),
    /// Keys.
    Deletes(Vec<&'a [u8]>),
    /// A range.
    DeleteRange(&'a KeyRange),
    /// A key and the increment of its counter.
    Add(&'a [u8], i64),
}

/// The runs of operations, in order.
pub fn runs(operations: &[Operation]) -> Vec<Run<'_>> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    for operation in operations {
        match (operation, runs.last_mut()) {
            (Operation::Put { key, value }, Some(Run::Puts(puts))) => puts.push((key, value)),
            (Operation::Put { key, value }, _) => runs.push(Run::Puts(vec![(key, value)])),
            (Operation::Delete { key }, Some(Run::Deletes(keys))) => keys.push(key),
            (Operation::Delete { key }, _) => runs.push(Run::Deletes(vec![key])),
            (Operation::DeleteRange(range), _) => runs.push(Run::DeleteRange(range)),
            (Operation::Add { key, delta }, _) => runs.push(Run::Add(key, *delta)),
        }
    }
    runs
}
