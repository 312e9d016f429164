//! The table that Trifle::Stats publishes, with the same work on this engine.
//!
//! One call writes to buckets of seven granularities, as theirs does; ASSERT says another value each
//! time, and BEAM and SCAN really keep and find a status (theirs do nothing on most engines). The
//! same buckets are written again and again, by one thread, as theirs are. Rows beyond their table
//! measure what it leaves out: many threads, and a long range.

mod comparison;
mod engine;
mod payload;
mod run;
mod table;
mod threads_and_ranges;

pub use run::{Trifle, run};
