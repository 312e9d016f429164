//! Confirmed commits (RFC 6241 §8.4): a commit that is taken back unless it is confirmed in time.
//!
//! What waits is written with the locks of running, in the same batch as the commit itself, so it
//! survives a restart. Whoever first sees that the time has passed rolls it back: the timer of a
//! server, or whoever opens the datastore next.

mod begin;
mod expire;
mod plan;

pub use begin::{CONFIRM_SECONDS_DEFAULT, Confirmed};

pub(in crate::tree) use plan::{Plan, is_overdue};
