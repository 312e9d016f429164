//! NETCONF, without a network.

mod compare;
mod configured;
mod filters;
mod framing;
mod fuzz;
mod fuzz_targets;
mod hello;
mod large;
mod notifications;
mod operations;
mod pages;
mod private_candidates;
mod push;
mod reported_problems;
mod support;
mod urls;
