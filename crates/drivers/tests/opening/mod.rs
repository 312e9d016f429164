//! Shared by the tests of opening an engine.

use espalier_keyspace::{Batch, Driver, ErrorKind, Result};

/// Stores 1000 bytes.
#[allow(dead_code, reason = "each test binary uses what it needs of this")]
pub fn put(driver: &dyn Driver, key: &str) {
    let mut batch = Batch::new();
    batch.put(key, vec![7; 1000]);
    driver.commit(batch).expect("a put");
}

/// The kind and the message of an expected error.
#[track_caller]
pub fn refusal<T>(refused: Result<T>) -> (ErrorKind, String) {
    let error = refused.err().expect("a refusal");
    (error.kind(), error.to_string())
}

/// Expects an error of a kind whose message contains `part`.
#[allow(dead_code, reason = "each test binary uses what it needs of this")]
#[track_caller]
pub fn assert_refused<T>(refused: Result<T>, kind: ErrorKind, part: &str) {
    let (found, message) = refusal(refused);
    assert_eq!(found, kind, "{message}");
    assert!(message.contains(part), "{message}");
    assert!(!message.contains("p@ss") && !message.contains("p%40ss"));
}
