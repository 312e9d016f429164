//! Streamed writes for engines without interactive transactions: implements [`Driver::write`] with
//! [`Driver::commit`].
//!
//! A buffer (`buffer.rs`) keeps the operations of `fill` in memory over a snapshot, so that the write can
//! read its own changes (`view.rs`). At the end it becomes one batch. Everything that the write read from
//! the snapshot (`read_set.rs`) must be unchanged when the batch is applied. Single keys are checked by
//! preconditions. Ranges are checked by the version: that of the snapshot, or of a later one on which the
//! reads were validated (`commit.rs`). So a concurrent commit causes a conflict only if it changed
//! something that the write read.
//!
//! [`Driver::write`]: espalier_keyspace::Driver::write
//! [`Driver::commit`]: espalier_keyspace::Driver::commit

mod buffer;
mod commit;
mod read_set;
mod view;

pub(crate) use commit::{Engine, write};
