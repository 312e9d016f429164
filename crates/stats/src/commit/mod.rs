//! The path from requests to one commit of the key space.
//!
//! Concurrent requests are grouped (`GroupQueue`); `plan.rs` finds the rows that they change, `rows.rs` changes them
//! (`latest_value.rs` based on earlier buckets), `attempt.rs` commits. Buckets are changed in no other way, except
//! by deletion.

mod attempt;
mod latest_value;
mod plan;
mod rows;
