//! Several documents, of one collection or of several, changed in one atomic commit.
//!
//! `state.rs` is a transaction and what follows its commit, `write.rs` changes documents and their
//! entries in indexes, `unique.rs` says who has a value of a unique index, `read.rs` reads through what the transaction changed.

mod read;
mod state;
mod unique;
pub(crate) mod write;

pub use state::Transaction;
pub(crate) use state::{After, Committed, Ended, News};
