//! LMDB alone, doing what the documents made their driver do.

use std::path::Path;

use espalier_keyspace::Driver;

use crate::bench::harness::{Plan, Timing, measure};
use crate::bench::place::Durability;
use crate::bench::raw::{Contents, Lmdb, RawEngine};
use crate::bench::recorder::Trace;
use crate::error::Result;

/// The raw engine with what the driver holds.
pub struct Floor(Lmdb);

impl Floor {
    /// One in a new folder below this one, relaxed.
    pub fn new(below: &Path, driver: &dyn Driver) -> Result<Self> {
        let engine = Lmdb::create(&below.join("raw"), Durability::Relaxed)?;
        engine.load(&Contents::of(driver)?)?;
        Ok(Self(engine))
    }

    /// The time of one trace, of those given; none where they ask nothing.
    pub fn measure(&self, traces: &[Trace]) -> Result<Option<Timing>> {
        let asks = |trace: &Trace| !(trace.reads.is_empty() && trace.commits.is_empty());
        if !traces.iter().all(asks) {
            return Ok(None);
        }
        let plan = Plan {
            warm_up: 0,
            ..Plan::many(traces.len() as u64)
        };
        let timing = measure(
            plan,
            |call| self.0.replay(&traces[call as usize]),
            |_, _| Ok(()),
        )?;
        Ok(Some(timing))
    }
}
