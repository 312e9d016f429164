//! Random operations, restarts and transactions, compared with a map, under every policy.

mod fixture;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use espalier_documents::{Collection, Error, ErrorKind, Policy, Query, Selection, Value};
use espalier_testkit::seed;
use espalier_testkit::servers::steps_on;
use fixture::{Car, Fixture, POLICIES, cars, engines};
use rand::Rng;
use rand::rngs::StdRng;

/// The naive model of a collection.
#[derive(Clone, Default)]
struct Model {
    documents: BTreeMap<u64, Car>,
    next: u64,
}

impl Model {
    fn holder(&self, name: &str) -> Option<u64> {
        let mut all = self.documents.iter();
        all.find(|(_, car)| car.name == name).map(|(key, _)| *key)
    }

    /// Whether the name is free for the document of a key.
    fn is_free(&self, key: Option<u64>, car: &Car) -> bool {
        let holder = self.holder(&car.name);
        holder.is_none() || holder == key
    }

    fn insert(&mut self, car: Car) -> Option<u64> {
        if !self.is_free(None, &car) {
            return None;
        }
        let key = self.next;
        self.documents.insert(key, car);
        self.next += 1;
        Some(key)
    }

    fn put(&mut self, key: u64, car: Car) -> Option<Option<Car>> {
        if !self.is_free(Some(key), &car) {
            return None;
        }
        self.next = self.next.max(key + 1);
        Some(self.documents.insert(key, car))
    }

    fn select(&self, is_match: impl Fn(&Car) -> bool) -> Vec<(u64, Car)> {
        let all = self.documents.iter().filter(|(_, car)| is_match(car));
        all.map(|(key, car)| (*key, car.clone())).collect()
    }
}

/// Texts that differ in ways that are hard for encodings.
fn random_text(random: &mut StdRng, many: u32) -> String {
    let long = "x".repeat(40);
    let longest = "x".repeat(130);
    let number = random.random_range(0..many);
    match random.random_range(0..14) {
        0 => String::new(),
        1 => format!("\0{number}"),
        2 => format!("\u{1}{number}\0"),
        3 => format!("a/{number}/../é"),
        4 => format!("{long}{number}"),
        5 => format!("{longest}{number}"),
        6 => format!("{longest}{number}{longest}"),
        7 => "x".repeat(32),
        8 => "x".repeat(33),
        9 => "x".repeat(97),
        _ => format!("n{number}"),
    }
}

fn random_car(random: &mut StdRng) -> Car {
    let keywords = (0..random.random_range(0..5)).map(|_| random_text(random, 3));
    let keywords = keywords.collect();
    Car {
        name: random_text(random, 60),
        color: random.random_bool(0.8).then(|| random_text(random, 3)),
        keywords,
        year: random.random_range(-300..300),
    }
}

fn plain(found: Vec<(u64, std::sync::Arc<Car>)>) -> Vec<(u64, Car)> {
    found
        .into_iter()
        .map(|(key, car)| (key, (*car).clone()))
        .collect()
}

fn random_bound(random: &mut StdRng, text: &str, year: i32) -> Bound<Value> {
    let value = if random.random_bool(0.5) {
        Value::of(text)
    } else {
        Value::of((text, year))
    };
    let value = value.expect("a value");
    match random.random_range(0..3) {
        0 => Bound::Unbounded,
        1 => Bound::Excluded(value),
        _ => Bound::Included(value),
    }
}

struct Run<'a> {
    random: &'a mut StdRng,
    fixture: &'a mut Fixture,
    policy: Policy,
    documents: espalier_documents::Documents,
    cars: Collection<Car>,
    model: Model,
}

impl Run<'_> {
    fn key(&mut self) -> u64 {
        let end = self.model.next + 3;
        self.random.random_range(0..end)
    }

    fn refused(&self, error: &Error, car: &Car) {
        assert_eq!(error.kind(), ErrorKind::Unique, "{error}");
        let clash = error.clash().expect("a clash");
        assert_eq!(Some(clash.key), self.model.holder(&car.name));
        assert_eq!(clash.index, "name");
    }

    fn step(&mut self) {
        match self.random.random_range(0..100) {
            0 => self.restart(),
            1..25 => self.insert(),
            25..35 => self.put(),
            35..45 => self.delete(),
            45..50 => self.update(),
            50..55 => self.upsert(),
            55..58 => self.delete_by(),
            58..66 => self.transaction(),
            66..70 => self.by_key(),
            70..80 => self.by_value(),
            80..88 => self.by_range(),
            88..95 => self.by_tags(),
            _ => self.compare_all(),
        }
    }

    fn restart(&mut self) {
        if self.policy == Policy::Ram {
            // Another handle of the same process.
            self.cars = cars(self.policy).open(&self.documents).expect("open");
            return;
        }
        let scratch = Fixture::new("memory:").documents();
        self.cars = cars(Policy::Ram).open(&scratch).expect("open");
        self.documents = scratch;
        self.fixture.restart();
        self.documents = self.fixture.documents();
        self.cars = cars(self.policy).open(&self.documents).expect("open");
    }

    fn insert(&mut self) {
        let car = random_car(self.random);
        match (
            self.cars.insert(car.clone()),
            self.model.insert(car.clone()),
        ) {
            (Ok(key), Some(expected)) => assert_eq!(key, expected),
            (Err(error), None) => self.refused(&error, &car),
            (result, expected) => panic!("{result:?} instead of {expected:?}"),
        }
    }

    fn put(&mut self) {
        let (key, car) = (self.key(), random_car(self.random));
        match (
            self.cars.put(key, car.clone()),
            self.model.put(key, car.clone()),
        ) {
            (Ok(old), Some(expected)) => assert_eq!(old.as_deref(), expected.as_ref()),
            (Err(error), None) => self.refused(&error, &car),
            (result, expected) => panic!("{result:?} instead of {expected:?}"),
        }
    }

    fn delete(&mut self) {
        if self.random.random_bool(0.2) {
            let popped = self.cars.pop().expect("popped");
            let expected = self.model.documents.pop_last();
            assert_eq!(popped.map(|(key, car)| (key, (*car).clone())), expected);
            return;
        }
        let key = self.key();
        let deleted = self.cars.delete(key).expect("deleted");
        assert_eq!(
            deleted.as_deref(),
            self.model.documents.remove(&key).as_ref()
        );
    }

    fn update(&mut self) {
        let (key, car) = (self.key(), random_car(self.random));
        let result = self.cars.update(key, |held| held.clone_from(&car));
        if !self.model.documents.contains_key(&key) {
            assert_eq!(result.expect_err("no document").kind(), ErrorKind::Missing);
            return;
        }
        match (result, self.model.put(key, car.clone())) {
            (Ok(new), Some(_)) => assert_eq!(*new, car),
            (Err(error), None) => self.refused(&error, &car),
            (result, expected) => panic!("{result:?} instead of {expected:?}"),
        }
    }

    fn upsert(&mut self) {
        let car = random_car(self.random);
        let key = self.cars.upsert("name", car.clone()).expect("a key");
        match self.model.holder(&car.name) {
            Some(held) => {
                assert_eq!(key, held);
                self.model.documents.insert(key, car);
            }
            None => assert_eq!(Some(key), self.model.insert(car)),
        }
    }

    fn delete_by(&mut self) {
        let color = random_text(self.random, 3);
        let index = self.cars.index("color").expect("an index");
        let deleted = index
            .delete_where(&color, |key, _| key % 2 == 0)
            .expect("deleted");
        let before = self.model.documents.len();
        self.model
            .documents
            .retain(|key, car| key % 2 != 0 || car.color.as_ref() != Some(&color));
        assert_eq!(deleted, before - self.model.documents.len());
    }

    /// Several changes; if one is rejected, all are undone.
    fn transaction(&mut self) {
        let mut model = self.model.clone();
        let cars: Vec<_> = (0..3).map(|_| random_car(self.random)).collect();
        let gone = self.key();
        let color = random_text(self.random, 3);
        let handle = &self.cars;
        let result = self.documents.transaction(|transaction| {
            transaction.delete(handle, gone)?;
            for car in &cars {
                transaction.insert(handle, car.clone())?;
            }
            let found = transaction.find(handle, "color", &*color)?;
            let tagged = transaction.keys(handle, "keyword", Query::all())?.len();
            Ok((plain(found), tagged))
        });
        model.documents.remove(&gone);
        let all = cars.iter().all(|car| model.insert(car.clone()).is_some());
        match result {
            Ok((found, tagged)) => {
                assert!(all);
                assert_eq!(
                    found,
                    model.select(|car| car.color.as_ref() == Some(&color))
                );
                let sets = model.documents.values();
                let tags = sets.map(|car| car.keywords.iter().collect::<BTreeSet<_>>().len());
                assert_eq!(tagged, tags.sum::<usize>());
                self.model = model;
            }
            Err(error) => {
                assert!(!all, "{error}");
                assert_eq!(error.kind(), ErrorKind::Unique);
            }
        }
    }

    fn by_key(&mut self) {
        let key = self.key();
        let found = self.cars.get(key).expect("read");
        assert_eq!(found.as_deref(), self.model.documents.get(&key));
        let (offset, limit) = (
            self.random.random_range(0..5),
            self.random.random_range(0..5),
        );
        let selection = Selection::all().after(key).offset(offset).limit(limit);
        let expected = self
            .model
            .documents
            .range(key + 1..)
            .skip(offset)
            .take(limit);
        let expected: Vec<_> = expected.map(|(key, car)| (*key, car.clone())).collect();
        assert_eq!(plain(self.cars.list(selection).expect("a list")), expected);
        let selection = Selection::all()
            .reversed()
            .after(key)
            .offset(offset)
            .limit(limit);
        let expected = self
            .model
            .documents
            .range(..key)
            .rev()
            .skip(offset)
            .take(limit);
        let expected: Vec<_> = expected.map(|(key, car)| (*key, car.clone())).collect();
        assert_eq!(plain(self.cars.list(selection).expect("a list")), expected);
    }

    fn by_value(&mut self) {
        let name = random_text(self.random, 60);
        let index = self.cars.index("name").expect("an index");
        let expected = self.model.holder(&name);
        assert_eq!(index.key(&name).expect("a key"), expected);
        let found = index.get(&name).expect("read");
        assert_eq!(
            found.as_deref(),
            expected.map(|key| &self.model.documents[&key])
        );
        let color = random_text(self.random, 3);
        let index = self.cars.index("color").expect("an index");
        let expected = self.model.select(|car| car.color.as_ref() == Some(&color));
        assert_eq!(plain(index.find(&color).expect("found")), expected);
        let (offset, limit) = (
            self.random.random_range(0..3),
            self.random.random_range(0..3),
        );
        let query = Query::value(&color).reversed().offset(offset).limit(limit);
        let expected: Vec<_> = expected
            .into_iter()
            .rev()
            .skip(offset)
            .take(limit)
            .collect();
        assert_eq!(plain(index.find(query).expect("found")), expected);
    }

    fn by_range(&mut self) {
        let (one, two) = (random_text(self.random, 3), random_text(self.random, 3));
        let year = self.random.random_range(-300..300);
        let from = random_bound(self.random, &one, year);
        let to = random_bound(self.random, &two, year);
        let parts = |car: &Car| Some((car.color.clone()?, car.year));
        let reaches = |bound: &Bound<Value>, color: &str, year: i32| match bound {
            Bound::Unbounded => None,
            Bound::Included(value) | Bound::Excluded(value) => {
                let json = value.to_json();
                let text = json[0].as_str().expect("a text");
                let order = color.as_bytes().cmp(text.as_bytes());
                Some(match json.get(1) {
                    Some(number) => {
                        order.then(i64::from(year).cmp(&number.as_i64().expect("a year")))
                    }
                    None => order,
                })
            }
        };
        let mut expected: Vec<_> = self
            .model
            .documents
            .iter()
            .filter_map(|(key, car)| {
                let (color, year) = parts(car)?;
                let low = reaches(&from, &color, year).is_none_or(|order| match from {
                    Bound::Excluded(_) => order.is_gt(),
                    _ => order.is_ge(),
                });
                let high = reaches(&to, &color, year).is_none_or(|order| match to {
                    Bound::Excluded(_) => order.is_lt(),
                    _ => order.is_le(),
                });
                (low && high).then(|| ((color.into_bytes(), year), *key))
            })
            .collect();
        expected.sort();
        let mut query = Query::between(from, to);
        if self.random.random_bool(0.5) {
            query = query.reversed();
            expected.reverse();
        }
        let (offset, limit) = (
            self.random.random_range(0..4),
            self.random.random_range(1..9),
        );
        let index = self.cars.index("color-and-year").expect("an index");
        let keys: Vec<_> = expected.iter().map(|(_, key)| *key).collect();
        assert_eq!(index.keys(query.clone()).expect("keys"), keys, "{query:?}");
        let part: Vec<_> = keys.iter().copied().skip(offset).take(limit).collect();
        let limited = query.clone().offset(offset).limit(limit);
        assert_eq!(
            index.keys(limited).expect("keys"),
            part,
            "{query:?} {offset} {limit}"
        );
        self.pages(&index, &query, &keys, limit);
    }

    /// All pages together contain each entry once.
    fn pages(
        &self,
        index: &espalier_documents::Index<Car>,
        query: &Query,
        keys: &[u64],
        limit: usize,
    ) {
        let (mut paged, mut page) = (Vec::new(), query.clone().limit(limit));
        loop {
            let found = index.find_with_values(page.clone()).expect("a page");
            paged.extend(found.iter().map(|found| found.key));
            match found.last() {
                Some(last) => {
                    let value = last.value.clone().expect("a value");
                    page = page.after(value, last.key);
                }
                None => break,
            }
        }
        assert_eq!(paged, keys, "{query:?}");
    }

    fn by_tags(&mut self) {
        let tags: Vec<_> = (0..self.random.random_range(1..4))
            .map(|_| random_text(self.random, 3))
            .collect();
        let index = self.cars.index("keyword").expect("an index");
        let all = self
            .model
            .select(|car| tags.iter().all(|tag| car.keywords.contains(tag)));
        assert_eq!(plain(index.all(&tags).expect("found")), all);
        let any = self
            .model
            .select(|car| tags.iter().any(|tag| car.keywords.contains(tag)));
        assert_eq!(plain(index.any(&tags).expect("found")), any);
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for car in self.model.documents.values() {
            for tag in car.keywords.iter().collect::<BTreeSet<_>>() {
                *counts.entry(tag.clone()).or_default() += 1;
            }
        }
        let listed = index.values(None, usize::MAX).expect("values");
        let listed: BTreeMap<_, _> = listed
            .into_iter()
            .map(|listed| {
                (
                    listed.value.to_json()[0]
                        .as_str()
                        .expect("a text")
                        .to_owned(),
                    listed.count,
                )
            })
            .collect();
        assert_eq!(listed, counts);
    }

    fn compare_all(&mut self) {
        let expected = self.model.select(|_| true);
        let all = Selection::all();
        assert_eq!(plain(self.cars.list(all).expect("a list")), expected);
        assert_eq!(self.cars.count().expect("a count"), expected.len() as u64);
        assert_eq!(self.cars.next_key().expect("a key"), self.model.next);
        let ends = (
            self.cars.first_key().expect("a key"),
            self.cars.last_key().expect("a key"),
        );
        assert_eq!(
            ends,
            (
                expected.first().map(|(key, _)| *key),
                expected.last().map(|(key, _)| *key)
            )
        );
    }
}

#[test]
fn a_collection_behaves_like_a_map() {
    seed::run("a_collection_behaves_like_a_map", |random| {
        let random = RefCell::new(random);
        for engine in engines() {
            for &policy in POLICIES {
                let random = &mut **random.borrow_mut();
                eprintln!("on {engine} {policy}");
                let mut fixture = Fixture::new(engine);
                let documents = fixture.documents();
                let cars = cars(policy).open(&documents).expect("open");
                let mut run = Run {
                    random,
                    fixture: &mut fixture,
                    policy,
                    documents,
                    cars,
                    model: Model::default(),
                };
                for _ in 0..steps_on(engine, 1500) {
                    run.step();
                }
                run.compare_all();
                assert_eq!(run.cars.check().expect("checked"), []);
            }
        }
    });
}
