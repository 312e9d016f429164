//! Engines with random rows.

use std::sync::Arc;

use espalier_keyspace::{Batch, Driver, KeyRange};
use espalier_store::{ExistingRows, Result, Subspace, TransferReport, copy};
pub use espalier_testkit::rows::Row;
use espalier_testkit::rows::rows;
use rand::Rng;
use rand::rngs::StdRng;

/// An empty engine.
pub fn memory() -> Arc<dyn Driver> {
    espalier_drivers::open("memory:").expect("memory opens")
}

/// Random rows, of all lengths and of all ranges that are transferred.
pub fn random_rows(random: &mut StdRng, count: usize) -> Vec<Row> {
    let mut rows: Vec<Row> = (0..count)
        .map(|number| {
            let mut key = vec![random.random_range(1..0x30)];
            if key[0] == Subspace::Compiled as u8 {
                key[0] = Subspace::Tree as u8;
            }
            key.extend_from_slice(&(random.random::<u32>() ^ number as u32).to_be_bytes());
            let length = match random.random_range(0..500) {
                0 => random.random_range(0..100_000),
                1..100 => 0,
                _ => random.random_range(0..60),
            };
            (key, vec![random.random(); length])
        })
        .collect();
    rows.push((vec![0xff; 1024], vec![7; 4 << 20]));
    rows.push((vec![0], b"before the first range".to_vec()));
    rows
}

/// Puts rows into an engine.
pub fn fill(driver: &dyn Driver, rows: &[Row]) {
    for chunk in rows.chunks(5000) {
        let mut batch = Batch::new();
        for (key, value) in chunk {
            batch.put(key.clone(), value.clone());
        }
        driver.commit(batch).expect("a batch");
    }
}

/// All rows of an engine.
pub fn all(driver: &dyn Driver) -> Vec<Row> {
    rows(driver, &KeyRange::all())
}

/// A copy that rejects existing rows.
pub fn copied(from: &dyn Driver, to: &dyn Driver) -> Result<TransferReport> {
    copy(from, "the source", to, ExistingRows::Reject, &mut |_, _| {})
}
