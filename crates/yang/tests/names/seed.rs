//! Repeatable random runs.

use rand::SeedableRng;
use rand::rngs::StdRng;

/// A generator from `ESPALIER_SEED`, or from a fixed seed if that is not set. Prints the seed, which the test runner
/// shows if the test fails.
pub fn seeded() -> StdRng {
    let seed = std::env::var("ESPALIER_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(20_080_101);
    println!("ESPALIER_SEED={seed}");
    StdRng::seed_from_u64(seed)
}
