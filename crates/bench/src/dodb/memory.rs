//! The memory of a cached collection.

use std::time::Instant;

use espalier_documents::{
    Collection, Document, Documents, FieldIndex, JsonDocument, Kind, Policy, Selection,
};
use espalier_terminal::{Failure, Result};

use super::cars::Groups;
use crate::harness::{Timing, cpu_time};
use crate::memory::own_private_bytes;

/// How many copies are loaded. The last one is measured: the others use up the memory that was free before.
const COPIES: usize = 3;

/// The number of documents per commit while the collection is filled.
const BULK: u64 = 1000;

/// The name of the collection of JSON documents.
const TEXT: &str = "cars-text";

/// The cache of a collection.
pub(super) struct LoadedCache {
    /// Of loading one copy.
    pub(super) timing: Timing,
    /// Private memory of a copy.
    pub(super) bytes: u64,
}

/// Loads the cache of a collection several times.
pub(super) fn load<T: Document>(open: impl Fn() -> Result<Collection<T>>) -> Result<LoadedCache> {
    let (mut copies, mut samples, mut bytes) = (Vec::new(), Vec::new(), 0);
    let cpu = cpu_time();
    for _ in 0..COPIES {
        let (before, begin) = (own_private_bytes(), Instant::now());
        copies.push(open()?);
        samples.push(begin.elapsed().as_secs_f64());
        bytes = own_private_bytes().saturating_sub(before);
    }
    let cpu = cpu_time().saturating_sub(cpu);
    Ok(LoadedCache {
        timing: Timing::from_samples(samples, cpu)?,
        bytes,
    })
}

/// Loads the cache of the same cars as documents of any shape.
pub(super) fn load_text(documents: &Documents, size: u64) -> Result<LoadedCache> {
    let index = |name: &str, kind, field: &str| FieldIndex {
        name: name.into(),
        kind,
        fields: vec![field.into()],
    };
    let indexes = vec![
        index("name", Kind::Unique, "/name"),
        index("color", Kind::Partition, "/color"),
        index("keyword", Kind::Tags, "/keywords"),
    ];
    documents.configure(TEXT, Policy::Uncached, indexes)?;
    let text = documents.open_text(TEXT, None)?;
    let mut groups = Groups::new(&[], size);
    for from in (0..size).step_by(BULK as usize) {
        let numbers = from..(from + BULK).min(size);
        let cars = numbers.map(|number| serde_json::to_value(groups.car(number)));
        let cars = cars.map(|car| Ok(JsonDocument::from(car.map_err(not_json)?)));
        text.insert_many(cars.collect::<Result<Vec<_>>>()?)?;
    }
    load(|| Ok(documents.open_text(TEXT, Some(Policy::Cached))?))
}

/// The bytes of the JSON of all documents of a collection.
pub(super) fn json_bytes<T: Document>(collection: &Collection<T>) -> Result<u64> {
    let mut bytes = 0;
    for (_, document) in collection.list(Selection::all())? {
        bytes += serde_json::to_vec(&*document).map_err(not_json)?.len() as u64;
    }
    Ok(bytes)
}

fn not_json(error: serde_json::Error) -> Failure {
    Failure::data(error.to_string())
}
