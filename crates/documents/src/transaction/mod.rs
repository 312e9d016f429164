//! Several documents, of one collection or of several, changed in one atomic commit.
//!
//! `state.rs` is a transaction and what follows its commit, `write.rs` changes documents and their
//! entries in indexes, `read.rs` reads through what the transaction changed.

mod read;
mod state;
pub(crate) mod write;

pub use state::Transaction;
pub(crate) use state::{After, Committed, Ended, News};
