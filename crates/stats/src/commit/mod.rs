//! The path from requests to one commit of the key space.
//!
//! `queue.rs` groups concurrent requests, `plan.rs` finds the rows that they change, `rows.rs` changes them
//! (`latest.rs` based on earlier buckets), `attempt.rs` commits. Buckets are changed in no other way, except
//! by deletion.

mod attempt;
mod latest;
mod plan;
mod queue;
mod rows;

pub(crate) use queue::Queue;
