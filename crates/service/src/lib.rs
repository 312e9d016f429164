//! The service under every front end: who makes a request, what they may do, what they did.
//!
//! | module | content |
//! |---|---|
//! | [`access`] | access control: the rules of `ietf-netconf-acm` (RFC 8341) |
//! | [`identity`] | users, passwords, tokens, certificates: from credentials to a user name |
//! | [`modules`] | the YANG modules that the service brings |

pub mod access;
pub mod identity;
pub mod modules;
