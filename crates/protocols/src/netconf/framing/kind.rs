//! The two framings.

/// How messages are separated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// By `]]>]]>` (§4.3): `hello`, and all messages of `base:1.0`.
    EndOfMessage,
    /// In chunks (§4.2): `base:1.1`.
    Chunked,
}
