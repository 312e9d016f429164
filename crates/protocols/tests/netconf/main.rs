//! NETCONF, without a network.

mod filters;
mod framing;
mod fuzz;
mod hello;
mod large;
mod notifications;
mod operations;
mod private_candidates;
mod reported_problems;
mod support;
