//! What a client sends first: `hello`, in any frames, and what follows.

#![no_main]

#[allow(dead_code)]
#[path = "../../crates/protocols/tests/netconf/fuzz_targets.rs"]
mod fuzz_targets;
#[allow(dead_code)]
mod server;
#[allow(dead_code)]
#[path = "../../crates/protocols/tests/netconf/support.rs"]
mod support;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| server::with(|fixture| fuzz_targets::hello(fixture, input)));
