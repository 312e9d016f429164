//! NETCONF, without a network.

mod framing;
mod hello;
mod large;
mod notifications;
mod operations;
mod support;
