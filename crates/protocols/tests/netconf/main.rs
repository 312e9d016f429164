//! NETCONF, without a network.

mod framing;
mod hello;
mod notifications;
mod operations;
mod support;
