//! The path from requests to one commit of the key space.
//!
//! Concurrent requests are grouped (`GroupQueue`). `batch.rs` collects their writes by metric, so that each row is read
//! and written once; `plan.rs` finds the buckets of a write; `metric_buckets.rs` changes them (`latest_value.rs` based
//! on earlier buckets); `rows.rs` has the rows of the commit; `attempt.rs` commits. Buckets are changed in no other way,
//! except by deletion.

mod attempt;
mod batch;
mod latest_value;
mod metric_buckets;
mod plan;
mod request_names;
mod rows;
