//! Connections, names and the chain of revisions: all that only this driver needs.

mod chain;
mod client;
mod connection;
mod distrust;
mod error;
mod names;
mod open;
mod prune;
mod readable;
mod recent;
mod rows;

pub(in crate::mongo) use chain::{Commit, State, binary, signed};
pub(in crate::mongo) use connection::{Inserted, Query, Sure};
pub(in crate::mongo) use error::Trouble;
pub use names::REVISION_MAX;
pub(in crate::mongo) use names::{Kind, order, revision_text, transaction_name};
pub use open::REQUEST_BYTES;
pub(in crate::mongo) use open::{Engine, exists};
pub(in crate::mongo) use recent::Row;
pub(in crate::mongo) use rows::{Values, View, Wanted};
