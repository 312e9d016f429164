//! Typed document collections with indexes, in a key space.
//!
//! A [`Collection`] holds documents of any serde type under numbers. Its [`Declaration`] says which
//! indexes it has, in a line each: `unique`, `partition` (many documents for a value), `tags` (and
//! many values for a document), over one component or several, asked by value or by range. A
//! document and its entries in the indexes change in one atomic commit, and so do several documents
//! of several collections ([`Documents::transaction`]). How much is kept in memory is a [`Policy`];
//! the results are the same under each.
//!
//! The decision behind the layout: an index is rows of its own, whose keys are values that sort as
//! the values do, so that any of these questions is one descent and one scan, on every engine; a
//! document is JSON, so that whoever looks into an engine can read it, and no program needs the type
//! of another. What was measured against it stands in ARCHITECTURE.md.
//!
//! This crate knows a key space and nothing else: no trees, no models. It is given a driver and a
//! prefix of keys.

mod build;
mod cache;
mod check;
mod collection;
mod core;
mod declaration;
mod definition;
mod document;
mod documents;
mod engine_view;
mod entries;
mod error;
mod exact;
mod exchange;
mod extract;
mod feed;
mod group;
mod joining;
mod layout;
pub mod limits;
mod merge_patch;
mod policy;
mod query;
mod ram;
mod reader;
mod reconcile;
mod rows;
mod shape;
mod transaction;
mod trigger;
mod value;

pub use check::{Finding, Repaired};
pub use collection::{Collection, Found, Index, Listed};
pub use declaration::Declaration;
pub use definition::{FieldIndex, IndexInfo, Info, Kind};
pub use document::{Document, Tag};
pub use documents::Documents;
pub use error::{Clash, Error, ErrorKind, Result};
pub use espalier_keyspace::Version;
pub use exact::{check_exact, exact_json};
pub use exchange::{Imported, Line};
pub use feed::{Event, Feed};
pub use merge_patch::merge_patch;
pub use policy::Policy;
pub use query::{Direction, Query, Selection};
pub use transaction::Transaction;
pub use trigger::{Changed, Trigger};
pub use value::{Component, IntoValue, Value};
