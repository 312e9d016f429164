//! Numbers: exact where they were given as integers or decimals, floats otherwise.
//!
//! An exact number is a 128-bit integer scaled by a power of ten: every 64-bit integer with 18
//! digits after the point fits, and a sum that would not is an error, never rounded. The
//! alternative, decimals of any length, would let a row grow with every call.

mod arithmetic;
mod json;
mod parse;
mod stored;
mod value;

pub(crate) use stored::{put_number, put_text, put_varint, take_number, take_text, take_varint};
pub use value::{Decimal, Number};
