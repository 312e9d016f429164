//! The framing of NETCONF messages (RFC 6242 §4): a decoder that accepts what clients send, and an encoder that is strict.

mod decode;
mod encode;
mod kind;

pub use decode::{Decoder, FramingError, Part};
pub use encode::MessageWriter;
pub use kind::Framing;
