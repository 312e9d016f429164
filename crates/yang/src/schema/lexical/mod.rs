//! From the text of a value to the value: [`Type::parse`](crate::schema::Type::parse) and what it
//! rests on.
//!
//! - `parse`: the entry points, and which way each type goes.
//! - `encoding`: what JSON wants for each type (RFC 7951 §6).
//! - `number`, `text`, `names`: the built-in types (RFC 7950 §9).
//! - `canonical`, `ip`, `date`: the canonical forms of RFC 6991 typedefs.
//! - `mismatch`: why a text is no value, as cheaply as possible: a union tries member after member.

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
