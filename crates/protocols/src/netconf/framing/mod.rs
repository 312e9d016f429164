//! The framing of NETCONF messages (RFC 6242 §4): a decoder that accepts what clients send, and an encoder that is strict.

mod decode;
mod encode;

pub use decode::{Decoder, FramingError, Part};
pub use encode::MessageWriter;

/// How messages are separated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// By `]]>]]>` (§4.3): `hello`, and all messages of `base:1.0`.
    EndOfMessage,
    /// In chunks (§4.2): `base:1.1`.
    Chunked,
}
