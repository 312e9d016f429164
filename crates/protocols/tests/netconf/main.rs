//! NETCONF, without a network.

mod framing;
mod hello;
mod operations;
mod support;
