//! Measures the cost of the policies. Run with `--ignored --nocapture`, optimised:
//! `CARGO_PROFILE_TEST_OPT_LEVEL=3 cargo test -p espalier-documents --test cost -- --ignored --nocapture`

mod fixture;

use std::time::{Duration, Instant};

use espalier_documents::{Collection, Policy};
use fixture::{Car, Fixture, POLICIES, car, cars};

/// The number of cars in the collection, and of red ones.
const SIZES: [(u64, u64); 2] = [(50_000, 5_000), (250_000, 5_000)];

fn per(total: Duration, count: u64) -> String {
    format!("{:.3} us", total.as_secs_f64() * 1e6 / count as f64)
}

fn made(number: u64, size: u64, red: u64) -> Car {
    let color = if number.is_multiple_of(size / red) {
        "red".to_owned()
    } else {
        format!("grey{}", number % 1000)
    };
    car(&format!("Corvet-{number}"), &color, &["fast", "old"], 1999)
}

fn best(times: u32, mut operation: impl FnMut() -> Duration) -> Duration {
    (0..times).map(|_| operation()).min().unwrap_or_default()
}

fn measure(policy: Policy, cars: &Collection<Car>, size: u64, red: u64) {
    let begin = Instant::now();
    for from in (0..size).step_by(1000) {
        let some = (from..from + 1000).map(|number| made(number, size, red));
        cars.insert_many(some).expect("keys");
    }
    let filled = per(begin.elapsed(), size);
    let name = cars.index("name").expect("an index");
    let numbers: Vec<u64> = (0..10_000_u64)
        .map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % size)
        .collect();
    let names: Vec<_> = numbers
        .iter()
        .map(|number| format!("Corvet-{number}"))
        .collect();
    let mut batches: Vec<_> = names
        .chunks(100)
        .map(|names| {
            let begin = Instant::now();
            for name_of in names {
                assert!(name.get(name_of.as_str()).expect("read").is_some());
            }
            begin.elapsed()
        })
        .collect();
    batches.sort_unstable();
    let (least, median) = (per(batches[0], 100), per(batches[batches.len() / 2], 100));
    let color = cars.index("color").expect("an index");
    let found = best(5, || {
        let begin = Instant::now();
        assert_eq!(color.find("red").expect("found").len() as u64, red);
        begin.elapsed()
    });
    let begin = Instant::now();
    for number in size..size + 5000 {
        cars.insert(made(number, size, red)).expect("a key");
    }
    let added = per(begin.elapsed(), 5000);
    eprintln!(
        "{size:>8} {policy:<9} add in bulk {filled:>10}  add {added:>10}  get {median:>10}, at least {least:>10}  {red} of a colour {found:?}",
    );
}

#[test]
#[ignore = "measures, checks little"]
fn cost_of_policies() {
    for (size, red) in SIZES {
        for &policy in POLICIES {
            let fixture = Fixture::new("embedded:{dir}/documents?durability=relaxed");
            let cars = cars(policy).open(&fixture.documents()).expect("open");
            measure(policy, &cars, size, red);
        }
    }
}
