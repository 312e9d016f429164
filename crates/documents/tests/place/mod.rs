//! The test fixture: documents on every engine of the workspace, by its URL.
#![allow(dead_code)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_documents::{Declaration, Documents, Policy};
use espalier_keyspace::{Driver, ErrorKind};
use espalier_testkit::servers::{shared_among, shared_url};
use serde::{Deserialize, Serialize};

/// The engines of this machine.
pub const ENGINES: &[&str] = &[
    "memory:",
    "embedded:{dir}/documents?durability=relaxed",
    "file:{dir}/documents?durability=relaxed",
    "sqlite:{dir}/documents?durability=relaxed",
];

/// Every policy; `recent` with small limits, so that documents are evicted.
pub const POLICIES: &[Policy] = &[
    Policy::Uncached,
    Policy::Indexed,
    Policy::Recent {
        entries: 5,
        bytes: 400,
    },
    Policy::Cached,
    Policy::Ram,
];

/// The key range that is registered for documents.
pub const PREFIX: &[u8] = &[0x30];

/// An engine that can be closed and reopened.
pub struct Place {
    pub url: String,
    dir: tempfile::TempDir,
    driver: Option<Arc<dyn Driver>>,
}

impl Place {
    pub fn new(engine: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let url = shared_url(engine, "").unwrap_or_else(|| {
            let dir = dir.path().to_str().expect("a plain path");
            engine.replace("{dir}", dir)
        });
        let mut place = Self {
            url,
            dir,
            driver: None,
        };
        place.restart();
        place
    }

    /// Closes the engine and reopens it; data in memory only stays.
    pub fn restart(&mut self) {
        let driver = self.driver.as_ref();
        if driver.is_none_or(|driver| driver.capability().durable) {
            self.driver = None;
            self.driver = Some(open(&self.url));
        }
    }

    pub fn driver(&self) -> Arc<dyn Driver> {
        Arc::clone(self.driver.as_ref().expect("open"))
    }

    pub fn documents(&self) -> Documents {
        Documents::new(self.driver(), PREFIX)
    }
}

/// Opens an engine. If only one process may open it, threads that follow it for caches may hold it a little
/// longer.
fn open(url: &str) -> Arc<dyn Driver> {
    let patience = Instant::now() + Duration::from_secs(10);
    loop {
        match espalier_drivers::open(url) {
            Err(error) if error.kind() == ErrorKind::Locked && Instant::now() < patience => {
                std::thread::sleep(Duration::from_millis(5));
            }
            opened => return opened.expect(url),
        }
    }
}

/// The engines, and the servers that this build supports and this run provides, by the names of their
/// drivers.
pub fn engines() -> Vec<&'static str> {
    [ENGINES, &shared_among(schemes())].concat()
}

/// The names of the drivers in this build.
pub fn schemes() -> impl Iterator<Item = &'static str> {
    espalier_drivers::schemes().iter().map(|scheme| scheme.name)
}

/// Runs a test on every engine.
pub fn on_every_engine(test: impl Fn(&mut Place)) {
    for engine in engines() {
        eprintln!("on {engine}");
        test(&mut Place::new(engine));
    }
}

/// The document type of most tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Car {
    pub name: String,
    pub color: Option<String>,
    pub keywords: Vec<String>,
    pub year: i32,
}

pub fn car(name: &str, color: &str, keywords: &[&str], year: i32) -> Car {
    Car {
        name: name.to_owned(),
        color: (!color.is_empty()).then(|| color.to_owned()),
        keywords: keywords.iter().map(|&keyword| keyword.to_owned()).collect(),
        year,
    }
}

/// The collection of most tests.
pub fn cars(policy: Policy) -> Declaration<Car> {
    Declaration::new("cars")
        .policy(policy)
        .unique("name", |car: &Car| car.name.clone())
        .partition("color", |car: &Car| car.color.clone())
        .partition("color-and-year", |car: &Car| {
            car.color.clone().map(|color| (color, car.year))
        })
        .tags("keyword", |car: &Car| car.keywords.clone())
}
