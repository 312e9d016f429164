//! The in-memory cache of a collection, and how it follows the commits of other processes.
//!
//! Each update is the *state of a document* at a version of the key space, from a commit of this process,
//! from a watch, or from a snapshot. Of two states of a document the one with the larger version wins, so
//! updates may arrive in any order.
//!
//! `index.rs` is one index in memory, `postings.rs` the documents of one value in it, `resident_documents.rs`
//! all documents, `memory_indexes.rs` both; `slab.rs`, `slot_runs.rs`, `hash_slots.rs` and
//! `value_bytes.rs` are their parts.
//! `recent.rs` is an LRU cache of documents, `follow.rs` the thread that applies events, `reload.rs` the
//! fallback if the engine cannot report what changed: rows are compared, and only rows that differ are decoded.

mod document_state;
pub(crate) mod follow;
mod hash_slots;
mod index;
mod memory_indexes;
mod policy_cache;
mod postings;
mod recent;
mod reload;
mod resident_documents;
mod slab;
mod slot_runs;
mod value_bytes;

pub(crate) use document_state::{DocumentState, Present};
pub(crate) use memory_indexes::{Hit, Resident};
pub(crate) use policy_cache::Cache;
