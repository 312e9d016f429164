//! Reads of many documents, compared with a naive filter.

mod fixture;

use std::collections::BTreeMap;

use espalier_documents::{Collection, ErrorKind, Policy, Query};
use espalier_keyspace::{Batch, Direction, Driver, KeyRange};
use fixture::{Car, POLICIES, car, cars, on_every_engine};

/// More than one thread reads alone.
const CARS: usize = 1500;

fn numbered(number: usize) -> Car {
    let color = match number % 5 {
        0 => "blue",
        1 => "",
        _ => "red",
    };
    let keywords = ["even", "third"];
    let has = [2, 3].map(|of| number.is_multiple_of(of));
    let keywords = keywords.into_iter().zip(has).filter(|(_, has)| *has);
    let keywords: Vec<_> = keywords.map(|(keyword, _)| keyword).collect();
    car(&format!("car {number}"), color, &keywords, number as i32)
}

fn check(cars: &Collection<Car>, model: &BTreeMap<u64, Car>) {
    let those = |is_meant: &dyn Fn(&Car) -> bool| -> Vec<(u64, Car)> {
        let model = model.iter().filter(|(_, car)| is_meant(car));
        model.map(|(key, car)| (*key, car.clone())).collect()
    };
    let plain = |found: Vec<(u64, std::sync::Arc<Car>)>| -> Vec<(u64, Car)> {
        let found = found.into_iter();
        found.map(|(key, car)| (key, (*car).clone())).collect()
    };
    let policy = cars.policy();
    let colors = cars.index("color").expect("an index");
    let red = those(&|car| car.color.as_deref() == Some("red"));
    assert_eq!(plain(colors.find("red").expect("cars")), red, "{policy}");
    let part = Query::value("red").offset(10).limit(40);
    let end = red.len().min(50);
    assert_eq!(
        plain(colors.find(part).expect("cars")),
        red[10.min(end)..end]
    );
    let colored = cars.index("color-and-year").expect("an index");
    let with_values = colored.find_with_values("red").expect("cars");
    let keys: Vec<_> = with_values.iter().map(|found| found.key).collect();
    assert_eq!(keys, red.iter().map(|(key, _)| *key).collect::<Vec<_>>());
    assert!(with_values.iter().all(|found| found.value.is_some()));
    let tags = cars.index("keyword").expect("an index");
    let has = |car: &Car, keyword: &str| car.keywords.iter().any(|held| held == keyword);
    let any = those(&|car| has(car, "even") || has(car, "third"));
    assert_eq!(plain(tags.any(["even", "third"]).expect("cars")), any);
    let all = those(&|car| has(car, "even") && has(car, "third"));
    assert_eq!(plain(tags.all(["even", "third"]).expect("cars")), all);
}

#[test]
fn many_are_found_under_every_policy() {
    on_every_engine(|fixture| {
        for &policy in POLICIES {
            let documents = fixture.documents();
            let cars = cars(policy).open(&documents).expect("open");
            let keys = cars.insert_many((0..CARS).map(numbered)).expect("keys");
            let all = keys.into_iter().zip((0..CARS).map(numbered));
            let mut model: BTreeMap<u64, Car> = all.collect();
            check(&cars, &model);
            for number in (0..CARS).step_by(CARS / 10) {
                cars.delete(number as u64).expect("deleted");
                model.remove(&(number as u64));
            }
            check(&cars, &model);
            let blue = cars.index("color").expect("an index");
            let deleted = blue.delete("blue").expect("deleted");
            let before = model.len();
            model.retain(|_, car| car.color.as_deref() != Some("blue"));
            assert_eq!(deleted, before - model.len());
            check(&cars, &model);
            if policy != Policy::Ram {
                // This one has to read everything first.
                let other = fixture::cars(policy).open(&fixture.documents());
                check(&other.expect("open"), &model);
                documents.remove("cars").expect("removed");
            }
        }
    });
}

#[test]
fn a_damaged_document_among_many_is_named() {
    on_every_engine(|fixture| {
        let cars = cars(Policy::Uncached)
            .open(&fixture.documents())
            .expect("open");
        cars.insert_many((0..CARS).map(|number| car(&number.to_string(), "red", &[], 0)))
            .expect("keys");
        let key = CARS as u64 - 3;
        spoil(&*fixture.driver(), key);
        let red = cars.index("color").expect("an index").find("red");
        let error = red.expect_err("a broken document");
        assert_eq!(error.kind(), ErrorKind::Document, "{error}");
        assert!(
            error.to_string().contains(&format!("document {key} ")),
            "{error}"
        );
    });
}

/// Truncates the document with this number in its name.
fn spoil(driver: &dyn Driver, number: u64) {
    let name = format!(r#"{{"name":"{number}","#);
    let snapshot = driver.snapshot().expect("a snapshot");
    let mut rows = snapshot
        .scan(&KeyRange::all(), Direction::Forward)
        .expect("a scan");
    while let Some((row, held)) = rows.next().expect("a row") {
        if held.windows(name.len()).any(|part| part == name.as_bytes()) {
            let mut batch = Batch::new();
            batch.put(row, &held[..held.len() - 2]);
            driver.commit(batch).expect("a commit");
            return;
        }
    }
    panic!("no document {number}");
}
