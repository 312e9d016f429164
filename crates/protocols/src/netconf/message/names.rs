//! Names that messages have.

/// The namespace of the messages and the base operations (RFC 6241).
pub const BASE_NAMESPACE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";

/// The capability of the protocol of RFC 4741.
pub const BASE_1_0: &str = "urn:ietf:params:netconf:base:1.0";

/// The capability of the protocol of RFC 6241.
pub const BASE_1_1: &str = "urn:ietf:params:netconf:base:1.1";
