//! Streamed writes for engines without interactive transactions: [`Driver::write`] in terms of
//! [`Driver::commit`].
//!
//! A buffer (`buffer.rs`) keeps what `fill` writes in memory, over a snapshot, so that the write reads
//! itself (`view.rs`). At the end it becomes one batch. What the write was told of the snapshot
//! (`reads.rs`) has to be so still when the batch is applied: of single keys by preconditions, of
//! ranges by the version, which may be that of a later snapshot that tells the same of them
//! (`commit.rs`). So a write that others overtook is refused as a conflict where what they did
//! matters to it, and applied where it does not.
//!
//! [`Driver::write`]: espalier_keyspace::Driver::write
//! [`Driver::commit`]: espalier_keyspace::Driver::commit

mod buffer;
mod commit;
mod reads;
mod view;

pub(crate) use commit::{Engine, write};
