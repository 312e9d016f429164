//! Seeds of random tests: printed when a test fails, set by an environment variable.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use rand::rngs::StdRng;
use rand::{RngCore, SeedableRng};

/// The variable that repeats a run: `ESPALIER_SEED=17 cargo test name_of_the_test`.
pub const SEED_VARIABLE: &str = "ESPALIER_SEED";

/// The seed of a run: that of the environment, or a random one.
fn configured_or_random() -> u64 {
    number_from_environment(SEED_VARIABLE).unwrap_or_else(|| rand::rng().next_u64())
}

/// The seed of a test that creates its generators itself. It is printed, and the test runner shows it if the
/// test fails.
pub fn printed() -> u64 {
    let seed = configured_or_random();
    println!("repeat it with {SEED_VARIABLE}={seed}");
    seed
}

/// A generator with a [`printed`] seed.
pub fn generator() -> StdRng {
    StdRng::seed_from_u64(printed())
}

/// Runs a random test; if it panics, prints the seed that repeats it.
pub fn run(name: &str, test: impl FnOnce(&mut StdRng)) {
    let seed = configured_or_random();
    let mut random = StdRng::seed_from_u64(seed);
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| test(&mut random))) {
        eprintln!("{name} failed; repeat it with {SEED_VARIABLE}={seed}");
        resume_unwind(panic);
    }
}

/// Runs a random test `count` times, each with its own seed; if one panics, prints the seed that repeats it
/// alone. `variable` is the variable that sets the count, for the message.
pub fn run_each(name: &str, count: u64, variable: &str, mut test: impl FnMut(&mut StdRng)) {
    let first = configured_or_random();
    for index in 0..count {
        let seed = first.wrapping_add(index);
        let mut random = StdRng::seed_from_u64(seed);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| test(&mut random))) {
            eprintln!("{name} failed; repeat it with {SEED_VARIABLE}={seed} {variable}=1");
            resume_unwind(panic);
        }
    }
}

/// The number in an environment variable, if it is set.
pub fn number_from_environment(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let number = text.trim().parse();
    Some(number.unwrap_or_else(|_| panic!("{variable} is {text:?}, which is not a number")))
}
