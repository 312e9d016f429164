//! Indexed values: typed as input, sortable bytes internally, JSON as output.
//!
//! A value has two encodings. The *full* one is never shortened, so resident indexes and sorting are exact.
//! The *short* one is used in engine keys, whose length is limited; if the two differ, the row holds the full
//! one.

mod component;
mod decode;
mod encode;
mod from_json;
mod number;

pub use component::{Component, IntoValue};
pub(crate) use decode::{ordered_prefix, skip};
pub(crate) use encode::Bytes;
pub use encode::Value;
pub(crate) use from_json::from_json;
