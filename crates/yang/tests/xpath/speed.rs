//! Evaluations per second: `cargo test --release -p espalier-yang --test xpath speed -- --ignored --nocapture`.

use std::time::Duration;

use espalier_yang::Instances;
use espalier_yang::data::TreeInstances;
use espalier_yang::xpath::evaluate::{Evaluator, Item, Limits};

use crate::fixture::{expression, place, schema, tree};

/// The number of entries of the lists.
const SIZE: usize = 10_000;

/// The number of evaluations of each expression.
const COUNT: u32 = 300_000;

/// The CPU time of this thread, independent of other load on the machine.
fn time_on_core() -> Duration {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanoseconds = statistics.split(' ').next().expect("a number");
    Duration::from_nanos(nanoseconds.parse().expect("a number"))
}

#[test]
#[ignore = "a measurement"]
fn evaluations_a_second() {
    let schema = schema();
    let entries = |entry: &dyn Fn(usize) -> String| {
        let texts: Vec<String> = (0..SIZE).map(entry).collect();
        texts.join(",")
    };
    let cars = entries(&|number| format!(r#"{{"plate": "P{number}", "owner": {number}}}"#));
    let people = entries(&|number| format!(r#"{{"id": {number}, "name": "N{number}"}}"#));
    let document =
        format!(r#"{{"garage:garage": {{"name": "x", "car": [{cars}], "person": [{people}]}}}}"#);
    let tree = tree(&schema, &document);
    let data = TreeInstances::new(&schema, &tree);
    let context = place(&data, "/garage/car[plate = 'P77']");
    let Item::Inner(car) = &context else {
        panic!("no entry");
    };
    let owner = schema
        .nodes()
        .find(|node| &*node.name == "owner")
        .expect("owner")
        .id;
    let value = data.leaf(car, owner).expect("read").expect("a value");
    let leaf = Item::leaf(car.clone(), owner, value);
    for (text, context) in [
        ("../name = 'x'", &context),
        ("not(../gate)", &context),
        ("../opened = 1999", &context),
        ("count(../car) <= 100000", &context),
        ("/garage/person[id = current()]/name", &leaf),
        (
            "/garage/person[id = current()/owner]/name = 'N77'",
            &context,
        ),
        ("deref(.)/../name = 'N77'", &leaf),
    ] {
        let expression = expression(text);
        let start = time_on_core();
        for _ in 0..COUNT {
            let evaluator = Evaluator::new(&data, Limits::default());
            assert!(
                evaluator.test(&expression, context).expect("a value"),
                "{text}"
            );
        }
        let each = (time_on_core() - start) / COUNT;
        let evaluator = Evaluator::new(&data, Limits::default());
        evaluator.test(&expression, context).expect("a value");
        println!("{text}: {each:?} each, {} steps", evaluator.steps());
    }
}
