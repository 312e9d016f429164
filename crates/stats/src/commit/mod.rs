//! From requests to one commit of the key space.
//!
//! `queue.rs` puts requests that come at once together, `plan.rs` finds the rows that they change,
//! `rows.rs` changes them (`latest.rs` by what stands in earlier ones), `attempt.rs` commits. There is no other way in which buckets change,
//! but deletion.

mod attempt;
mod latest;
mod plan;
mod queue;
mod rows;

pub(crate) use queue::Queue;
