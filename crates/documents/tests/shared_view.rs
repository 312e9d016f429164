//! Two handles of one engine, each with its data in memory: each decides on what the other has committed, and
//! shows it after `refresh`. And the number of requests to the engine.

mod fixture;

use std::sync::Arc;

use espalier_documents::{Documents, Policy};
use espalier_keyspace::Driver;
use espalier_keyspace::metered::Metered;
use espalier_testkit::servers::shareable_urls;
use fixture::{PREFIX, car, cars, schemes};

const VIEW: &str = "policy=cached&staleness_ms=30000";

/// Rounds; in each one, a handle reads immediately what the other has just written.
const ROUNDS: i32 = 40;

fn on_all(test: impl Fn([Arc<dyn Driver>; 2])) {
    let dir = tempfile::tempdir().expect("a directory");
    for url in shareable_urls(dir.path(), schemes(), VIEW) {
        eprintln!("over {url}");
        test([(); 2].map(|()| espalier_drivers::open(&url).expect(&url)));
    }
}

#[test]
fn one_handle_decides_on_the_changes_of_the_other() {
    on_all(|drivers| {
        for policy in [Policy::Uncached, Policy::Cached] {
            let documents = [0, 1].map(|which| Documents::new(Arc::clone(&drivers[which]), PREFIX));
            let open = |documents: &Documents| cars(policy).open(documents).expect("open");
            let (one, other) = (open(&documents[0]), open(&documents[1]));
            let name = policy.to_string();
            let key = one.insert(car(&name, "red", &["a"], 0)).expect("a key");
            for round in 0..ROUNDS {
                let (writer, reader) = match round % 2 {
                    0 => (&one, &other),
                    _ => (&other, &one),
                };
                writer.update(key, |car| car.year += 1).expect("updated");
                let updated = reader.update(key, |car| car.year += 1).expect("updated");
                assert_eq!(updated.year, 2 * round + 2, "{policy}");
                writer.refresh().expect("refreshed");
                let shown = writer.get(key).expect("read").expect("a car");
                assert_eq!(shown.year, 2 * round + 2, "{policy}");
            }
            let taken = other.insert(car(&name, "blue", &[], 0));
            assert!(taken.is_err(), "the name is taken");
            one.delete(key).expect("deleted");
            other
                .insert(car(&name, "blue", &[], 0))
                .expect("it is free again");
            for round in 0..ROUNDS {
                let name = format!("{name} {round}");
                let key = one.insert(car(&name, "red", &[], 0)).expect("a key");
                let shown = documents[1].transaction(|transaction| transaction.get(&other, key));
                assert!(shown.expect("read").is_some(), "{name} is there");
                assert!(other.delete(key).expect("deleted").is_some(), "{name}");
                assert!(one.delete(key).expect("deleted").is_none(), "{name}");
            }
        }
    });
}

#[test]
fn one_handle_sees_collections_created_by_the_other() {
    on_all(|drivers| {
        let [one, other] = drivers.map(|driver| Documents::new(driver, PREFIX));
        for round in 0..5 {
            let name = format!("c{round}");
            one.configure(&name, Policy::Uncached, Vec::new())
                .expect("made");
            let listed = other.list().expect("a list");
            assert!(listed.iter().any(|info| info.name == name), "{name}");
            let there = other.open(&name, None).expect("opened");
            assert_eq!(there.count().expect("a count"), 0);
            other.remove(&name).expect("removed");
            assert!(one.open(&name, None).is_err(), "{name} is gone");
        }
    });
}

/// A transaction over documents in memory took a snapshot of the engine, which is a round trip to a server,
/// without reading from it.
#[test]
fn documents_in_memory_send_no_engine_requests() {
    let metered = Metered::new(espalier_drivers::open("memory:").expect("a driver"));
    let meter = metered.meter();
    let documents = Documents::new(Arc::new(metered), PREFIX);
    let cars = cars(Policy::Ram).open(&documents).expect("open");
    let readings = || meter.readings().map(|reading| reading.count);
    let before = readings();
    let key = cars.insert(car("a", "red", &["fast"], 1)).expect("a key");
    cars.insert(car("a", "blue", &[], 2)).expect_err("a clash");
    cars.update(key, |car| car.year += 1).expect("updated");
    let names = cars.index("name").expect("an index");
    assert_eq!(names.get("a").expect("read").expect("a car").year, 2);
    cars.delete(key).expect("deleted");
    assert_eq!(readings(), before);
}
