//! Parsing of values: [`Type::parse`](crate::schema::Type::parse) and its parts.
//!
//! - `parse`: the entry points, and the dispatch by type.
//! - `encoding`: the JSON encoding of each type (RFC 7951 §6).
//! - `number`, `text`, `names`: the built-in types (RFC 7950 §9).
//! - `canonical`, `ip`, `date`: the canonical forms of RFC 6991 typedefs.
//! - `mismatch`: errors, created as cheaply as possible, because a union tries one member after another.

mod canonical;
mod date;
mod encoding;
mod ip;
mod mismatch;
mod names;
mod number;
mod parse;
mod text;

pub use encoding::JsonScalar;
pub use mismatch::ValueError;
