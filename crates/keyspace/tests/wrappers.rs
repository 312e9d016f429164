//! Driver wrappers, and batches that exceed the limits.

use espalier_keyspace::{
    BATCH_BYTES_MAX, Batch, ErrorKind, KEY_BYTES_MAX, KeyRange, Operation, VALUE_BYTES_MAX,
};

#[test]
fn a_batch_counts_its_bytes() {
    let mut batch = Batch::new();
    assert!(batch.is_empty());
    batch.put("key", "value");
    batch.delete("gone");
    batch.add("sum", 1);
    batch.delete_range(KeyRange::new("aa", "bbb"));
    assert_eq!(batch.bytes(), 8 + 4 + 11 + 5);
    assert_eq!(batch.operations().len(), 4);
    assert!(!batch.is_empty());
    batch.check_limits().expect("within the limits");
}

#[test]
fn a_batch_at_and_over_its_limits() {
    let kind_of = |operation: Operation| {
        let mut batch = Batch::new();
        batch.push(operation);
        batch.check_limits().err().map(|error| error.kind())
    };
    let put = |key_bytes, value_bytes| Operation::Put {
        key: vec![0; key_bytes],
        value: vec![0; value_bytes],
    };
    assert_eq!(kind_of(put(KEY_BYTES_MAX, VALUE_BYTES_MAX)), None);
    assert_eq!(
        kind_of(put(KEY_BYTES_MAX + 1, 0)),
        Some(ErrorKind::KeyTooLong)
    );
    assert_eq!(kind_of(put(0, 0)), Some(ErrorKind::KeyTooLong));
    assert_eq!(
        kind_of(put(1, VALUE_BYTES_MAX + 1)),
        Some(ErrorKind::ValueTooLong)
    );
    assert_eq!(kind_of(Operation::DeleteRange(KeyRange::all())), None);
    let mut batch = Batch::new();
    let values = BATCH_BYTES_MAX / VALUE_BYTES_MAX;
    // Untouched pages from the allocator: they use address space, not memory.
    (0..values).for_each(|_| batch.put("", vec![0; VALUE_BYTES_MAX]));
    assert_eq!(batch.bytes(), BATCH_BYTES_MAX);
    batch.delete("k");
    let error = batch.check_limits().expect_err("one byte too many");
    assert_eq!(error.kind(), ErrorKind::BatchTooLarge);
}
