//! Indexed values: typed on the way in, bytes that sort as the values do inside, JSON on the way out.
//!
//! A value has two encodings. The *full* one is never shortened, so resident indexes and sorting
//! are exact. The *short* one stands in keys of the engine, whose length is limited; where the two
//! differ, the row holds the full one.

mod component;
mod decode;
mod encode;
mod from_json;
mod number;

pub use component::{Component, IntoValue};
pub(crate) use decode::{skip, wide_prefix};
pub(crate) use encode::Bytes;
pub use encode::Value;
pub(crate) use from_json::from_json;
