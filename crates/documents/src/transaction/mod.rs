//! Transactions: atomic changes of several documents, in one or several collections.
//!
//! `state.rs` is a transaction and its end, `write.rs` changes documents and their index entries, `unique.rs`
//! enforces unique indexes, `read.rs` reads documents with the changes of the transaction.

mod read;
mod state;
mod unique;
pub(crate) mod write;

pub use state::Transaction;
pub(crate) use state::{After, CacheUpdates, Committed, TransactionOutput};
