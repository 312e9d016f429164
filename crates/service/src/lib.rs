//! The service under every front end: who makes a request, what they may do, what they did.
//!
//! | module | content |
//! |---|---|
//! | [`access`] | access control: the rules of `ietf-netconf-acm` (RFC 8341) |
//! | [`audit`] | the audit log: a record of each login, write, operation and denial |

pub mod access;
pub mod audit;
