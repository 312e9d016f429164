//! NETCONF, without a network.

mod compare;
mod configured;
mod filters;
mod framing;
mod fuzz;
mod hello;
mod large;
mod notifications;
mod operations;
mod private_candidates;
mod push;
mod reported_problems;
mod support;
mod urls;
