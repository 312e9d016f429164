//! Writes kept in memory for a moment, and committed together.
//!
//! What is lost when the process is killed: writes of the last [`Limits::interval`], at most
//! [`Limits::writes`]. Nothing is lost when the buffer is dropped, flushed or refused by the
//! engine for the moment. Writes to one metric keep their order; those that can be added up before
//! are. A reading of the store does not see what is still in the buffer: flush first.

mod pending;
mod writer;

pub use writer::{Buffer, Limits, Refused};
