//! A write buffer: writes are kept in memory for a short time and committed together.
//!
//! If the process is killed, the writes of the last [`Limits::interval`], at most [`Limits::writes`], are
//! lost. Nothing is lost if the buffer is dropped or flushed, or if the engine fails temporarily. Writes to
//! one metric keep their order; writes that can be added up are combined first. Reads of the store do not
//! include buffered writes: flush first.

mod pending;
mod writer;

pub use writer::{Buffer, Limits, Refused};
