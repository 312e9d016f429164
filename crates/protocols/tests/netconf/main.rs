//! NETCONF, without a network.

mod compare;
mod filters;
mod framing;
mod hello;
mod large;
mod notifications;
mod operations;
mod private_candidates;
mod push;
mod support;
mod urls;
