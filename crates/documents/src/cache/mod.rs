//! What is kept of a collection in memory, and how it follows the commits of others.
//!
//! Each thing that is learned of a document is a *fact* with the version of the key space at which
//! it held: from a commit of this process, from a watch, from a snapshot. Of two facts the one
//! with the larger version stands, so that they may come in any order.
//!
//! `index.rs` is one index in memory, `postings.rs` the documents of one value of it, `resident.rs`
//! documents and indexes, `recent.rs` the documents used last, `follow.rs` the thread that brings
//! news, `reload.rs` what it does where the engine cannot tell what changed: rows are compared, and
//! only those that differ are read.

mod fact;
pub(crate) mod follow;
mod index;
mod postings;
mod recent;
mod reload;
mod resident;
mod runs;
mod store;

pub(crate) use fact::{Fact, Present};
pub(crate) use resident::{Hit, Resident};
pub(crate) use store::Cache;
