//! Concurrent writers: threads of one process, several handles, several processes, one of which is killed.

mod fixture;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use espalier_documents::{Collection, ErrorKind, Policy};
use espalier_testkit::process::{Part, argument, say};
use fixture::{Car, Fixture, PREFIX, car, cars, on_every_engine};

const THREADS: usize = 32;
const NAMES: usize = 40;

/// Every thread tries to take every name: exactly one succeeds for each.
fn take_names(handles: &[Collection<Car>]) -> usize {
    std::thread::scope(|scope| {
        let takers = (0..THREADS).map(|thread| {
            let cars = &handles[thread % handles.len()];
            scope.spawn(move || {
                let mut taken = 0;
                for n in 0..NAMES {
                    let name = format!("n{}", (n + thread) % NAMES);
                    match cars.insert(car(&name, "red", &["k"], thread as i32)) {
                        Ok(_) => taken += 1,
                        Err(error) => assert_eq!(error.kind(), ErrorKind::Unique, "{error}"),
                    }
                }
                taken
            })
        });
        let takers: Vec<_> = takers.collect();
        takers
            .into_iter()
            .map(|taker| taker.join().expect("no panic"))
            .sum()
    })
}

#[test]
fn a_unique_value_is_stored_once_by_many_threads_and_handles() {
    on_every_engine(|fixture| {
        let handles: Vec<_> = [
            Policy::Cached,
            Policy::Uncached,
            Policy::Recent {
                entries: 9,
                bytes: 999,
            },
        ]
        .into_iter()
        .map(|policy| cars(policy).open(&fixture.documents()).expect("open"))
        .collect();
        assert_eq!(take_names(&handles), NAMES);
        for cars in &handles {
            cars.refresh().expect("refreshed");
            assert_eq!(cars.check().expect("checked"), []);
            assert_eq!(cars.count().expect("a count"), NAMES as u64);
            assert_eq!(
                cars.index("color")
                    .expect("an index")
                    .count("red")
                    .expect("a count"),
                NAMES
            );
        }
    });
}

#[test]
fn updates_of_many_threads_and_handles_add_up() {
    on_every_engine(|fixture| {
        let handles: Vec<_> = [Policy::Cached, Policy::Indexed]
            .into_iter()
            .map(|policy| cars(policy).open(&fixture.documents()).expect("open"))
            .collect();
        handles[0].insert(car("a", "red", &[], 0)).expect("a key");
        let rounds = 50;
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let cars = &handles[thread % 2];
                scope.spawn(move || {
                    for _ in 0..rounds {
                        cars.update(0, |car| car.year += 1).expect("updated");
                    }
                });
            }
        });
        for cars in &handles {
            cars.refresh().expect("refreshed");
            let year = cars.get(0).expect("read").expect("a car").year;
            assert_eq!(year, 8 * rounds);
        }
    });
}

#[test]
fn readers_see_transactions_atomically() {
    on_every_engine(|fixture| {
        for policy in [Policy::Uncached, Policy::Cached] {
            let documents = fixture.documents();
            let cars = cars(policy).open(&documents).expect("open");
            cars.insert_many((0..10).map(|n| car(&format!("{policy}{n}"), "red", &[], 0)))
                .expect("keys");
            let done = std::sync::atomic::AtomicBool::new(false);
            let rounds = 100;
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for round in 0..rounds {
                        let color = ["red", "blue"][round % 2];
                        documents
                            .transaction(|transaction| {
                                for key in 0..10 {
                                    transaction.update(&cars, key, |car| {
                                        car.color = Some(color.to_owned());
                                    })?;
                                }
                                Ok(())
                            })
                            .expect("committed");
                    }
                    done.store(true, std::sync::atomic::Ordering::SeqCst);
                });
                let index = cars.index("color").expect("an index");
                while !done.load(std::sync::atomic::Ordering::SeqCst) {
                    let red = index.find("red").expect("found").len();
                    assert!(red == 0 || red == 10, "{red}");
                }
            });
            documents.remove("cars").expect("removed");
        }
    });
}

/// A process that inserts until it is killed, and prints each acknowledged key.
#[test]
fn part_that_writes() {
    let Some(argument) = argument() else { return };
    let (url, name) = argument.split_once(' ').expect("two arguments");
    let driver = espalier_drivers::open(url).expect(url);
    let documents = espalier_documents::Documents::new(driver, PREFIX);
    let cars = Arc::new(cars(Policy::Cached).open(&documents).expect("open"));
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let cars = Arc::clone(&cars);
            scope.spawn(move || {
                for n in 0.. {
                    let text = format!("{name}-{thread}-{n}");
                    let key = cars
                        .insert(car(&text, "red", &["k", &text], n))
                        .expect("a key");
                    cars.update(key, |car| car.year += 1).expect("updated");
                    say(&format!("{key} {text}"));
                    if n >= 3 {
                        cars.index("name")
                            .expect("an index")
                            .delete(format!("{name}-{thread}-{}", n - 3))
                            .expect("deleted");
                        say(&format!("- {name}-{thread}-{}", n - 3));
                    }
                }
            });
        }
    });
}

/// What was acknowledged exists after SIGKILL, and the collection is consistent.
fn kill(engine: &str) {
    let fixture = Fixture::new(engine);
    for round in 0..6 {
        let name = format!("r{round}");
        let mut parts: Vec<_> = (0..2)
            .map(|part| {
                Part::start(
                    "part_that_writes",
                    &format!("{} {name}p{part}", fixture.url),
                )
            })
            .collect();
        let mut there = BTreeSet::new();
        let mut gone = BTreeSet::new();
        let mut note = |line: &str| match line.split_once(' ').expect("two words") {
            ("-", text) => drop(gone.insert(text.to_owned())),
            (_, text) => drop(there.insert(text.to_owned())),
        };
        for _ in 0..60 + 20 * round {
            for part in &mut parts {
                note(&part.line().expect("it lives"));
            }
        }
        for part in &mut parts {
            part.kill();
            // Lines that it had printed, and that were not read yet.
            while let Some(line) = part.line() {
                note(&line);
            }
        }
        drop(parts);
        let cars = cars(Policy::Indexed)
            .open(&fixture.documents())
            .expect("open");
        assert_eq!(cars.check().expect("checked"), [], "{engine} round {round}");
        let index = cars.index("name").expect("an index");
        for text in &there {
            let found = index.get(text).expect("read");
            // Its deletion may have been in progress.
            if let Some(car) = found {
                assert!(!gone.contains(text), "{text}");
                let n: i32 = text
                    .rsplit('-')
                    .next()
                    .expect("a number")
                    .parse()
                    .expect("a number");
                assert_eq!(car.year, n + 1);
            } else {
                let (thread, n) = text.rsplit_once('-').expect("a number");
                let n: usize = n.parse().expect("a number");
                let later = format!("{thread}-{}", n + 3);
                assert!(
                    gone.contains(text) || index.get(&later).expect("read").is_some(),
                    "{text} was lost"
                );
            }
        }
    }
}

#[test]
fn acknowledged_documents_survive_a_kill_on_lmdb() {
    kill("embedded:{dir}/documents");
}

#[test]
fn acknowledged_documents_survive_a_kill_on_sqlite() {
    kill("sqlite:{dir}/documents");
}

#[test]
fn caches_follow_other_processes() {
    for engine in ["embedded:{dir}/documents", "sqlite:{dir}/documents"] {
        let fixture = Fixture::new(engine);
        let reader = cars(Policy::Cached)
            .open(&fixture.documents())
            .expect("open");
        let mut part = Part::start("part_that_writes", &format!("{} a", fixture.url));
        let mut last = String::new();
        while !last.ends_with("-30") {
            last = part.line().expect("it lives");
        }
        part.kill();
        let (_, name) = last.split_once(' ').expect("two words");
        let stored = cars(Policy::Uncached)
            .open(&fixture.documents())
            .expect("open");
        // The last commit of the killed process may not be complete yet.
        let expected = || {
            let index = stored.index("name").expect("an index");
            (
                index.key(name).expect("a key"),
                stored.count().expect("a count"),
            )
        };
        let index = reader.index("name").expect("an index");
        let kept = || {
            (
                index.key(name).expect("a key"),
                reader.count().expect("a count"),
            )
        };
        let end = std::time::Instant::now() + Duration::from_secs(10);
        while kept() != expected() {
            assert!(
                std::time::Instant::now() < end,
                "it does not follow on {engine}"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
