//! The table that Trifle::Stats publishes, with the same work on this engine.
//!
//! One call writes to buckets of seven granularities, as in Trifle::Stats. ASSERT sets another value each time, and
//! BEAM and SCAN store and find a real status (those of Trifle::Stats do nothing on most engines). One thread writes
//! the same buckets repeatedly, as in Trifle::Stats. Additional rows measure many threads and a long range, which the
//! table leaves out.

mod comparison;
mod engine;
mod payload;
mod run;
mod table;
mod threads_and_ranges;

pub use engine::Engine;
pub use run::{Trifle, run, timestamp};
