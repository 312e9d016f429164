//! The decoder of frames, with bytes that arrive in pieces of different sizes.

#![no_main]

#[allow(dead_code)]
#[path = "../../crates/protocols/tests/netconf/fuzz_targets.rs"]
mod fuzz_targets;
#[allow(dead_code)]
#[path = "../../crates/protocols/tests/netconf/support.rs"]
mod support;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    for size in [1, 2, 3, 7] {
        let pieces: Vec<&[u8]> = input.chunks(size).collect();
        fuzz_targets::framing(&pieces);
    }
});
