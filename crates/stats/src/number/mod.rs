//! Numbers: exact if given as integers or decimals, otherwise floats.
//!
//! An exact number is a 128-bit integer scaled by a power of ten: every 64-bit integer with 18 decimal places
//! fits, and a sum that does not fit is an error, never rounded. The alternative, decimals of arbitrary
//! length, would let a row grow with every call.

mod arithmetic;
mod encoding;
mod json;
mod parse;
mod value;

pub(crate) use encoding::{put_number, put_text, put_varint, take_number, take_text, take_varint};
pub use value::{Decimal, Number};
