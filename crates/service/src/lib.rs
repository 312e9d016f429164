//! The service under every front end: who makes a request, what they may do, what they did.
//!
//! | module | content |
//! |---|---|
//! | [`access`] | access control: the rules of `ietf-netconf-acm` (RFC 8341) |

pub mod access;
