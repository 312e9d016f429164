//! Typed document collections with indexes, in a key space.
//!
//! A [`Collection`] stores documents of any serde type under numeric keys. Its [`Declaration`] lists its
//! indexes, one line each: `unique`, `partition` (a value has many documents), `tags` (and a document has
//! many values), over one component or several, for queries by value or by range. A document and its index
//! entries change in one atomic commit, and so do several documents of several collections
//! ([`Documents::transaction`]). A [`Policy`] sets what is cached in memory; the results are the same under
//! each policy.
//!
//! The decision behind the layout: an index is a set of rows whose keys are encoded values with the same sort
//! order, so that each query is one descent and one scan, on every engine; a document is stored as JSON, so
//! that people can read it in the engine, and no program needs the type of another. The measurements against
//! the alternatives are in docs/decisions/0042 and 0043.
//!
//! This crate depends on a key space only: it has no data trees and no models. Its inputs are a driver and a
//! key prefix.

mod bound_definition;
mod cache;
mod check;
mod collection;
mod declaration;
mod definition;
mod document;
mod documents;
mod engine_view;
mod entries;
mod error;
mod feed;
mod group_commit;
mod index_build;
mod index_values;
mod json_document;
mod json_lines;
mod layout;
pub mod limits;
mod merge_patch;
mod policy;
mod query;
mod ram;
mod reconcile;
mod row_reader;
mod rows;
mod set_operation;
mod shared_state;
mod strict_json;
mod transaction;
mod trigger;
mod value;

pub use check::{Finding, RepairReport};
pub use collection::{Collection, Found, Index, ValueCount};
pub use declaration::Declaration;
pub use definition::{FieldIndex, IndexInfo, Info, Kind};
pub use document::{Document, EntityTag};
pub use documents::Documents;
pub use error::{Error, ErrorKind, Result, UniqueConflict};
pub use espalier_keyspace::Version;
pub use feed::{Event, Feed};
pub use json_document::JsonDocument;
pub use json_lines::{ImportReport, Line};
pub use merge_patch::merge_patch;
pub use policy::Policy;
pub use query::{Direction, Query, Selection};
pub use strict_json::{check_strict_json, parse_strict_json};
pub use transaction::Transaction;
pub use trigger::{Changed, Trigger};
pub use value::{Component, IntoValue, Value};
