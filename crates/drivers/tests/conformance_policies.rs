//! The conformance suite under every memory policy: the results do not depend on what is cached.
#![cfg(feature = "memory")]

use std::sync::Arc;

use espalier_keyspace::{Driver, Policy};

fn open(url: &str) -> Arc<dyn Driver> {
    let driver = espalier_drivers::open(url).expect("the engine opens");
    let policy = driver.cache_status().policy;
    assert!(policy != Policy::Uncached && url.contains(policy.name()));
    driver
}

fn memory(policy: &str) -> impl Fn() -> Arc<dyn Driver> + use<> {
    let url = format!("memory:?policy={policy}");
    move || open(&url)
}

#[cfg(feature = "embedded")]
fn embedded(policy: &str) -> impl Fn() -> Arc<dyn Driver> + use<> {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().display();
    let url = format!("embedded:{path}?durability=relaxed&policy={policy}");
    move || {
        assert!(dir.path().exists());
        open(&url)
    }
}

#[cfg(feature = "sqlite")]
fn sqlite(policy: &str) -> impl Fn() -> Arc<dyn Driver> + use<> {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("data.db");
    let url = format!(
        "sqlite:{}?policy={policy}&durability=relaxed",
        path.display()
    );
    move || {
        assert!(dir.path().exists());
        open(&url)
    }
}

#[cfg(feature = "redis")]
fn redis(policy: &str) -> Option<impl Fn() -> Arc<dyn Driver> + use<>> {
    let server = espalier_testkit::servers::Redis::shared()?;
    let url = server.url(&format!("durability=relaxed&policy={policy}"));
    Some(move || open(&url))
}

#[cfg(feature = "postgres")]
fn postgres(policy: &str) -> Option<impl Fn() -> Arc<dyn Driver> + use<>> {
    let server = espalier_testkit::servers::Postgres::shared()?;
    let url = server.url(&format!("durability=relaxed&policy={policy}"));
    Some(move || open(&url))
}

#[cfg(feature = "etcd")]
fn etcd(policy: &str) -> Option<impl Fn() -> Arc<dyn Driver> + use<>> {
    let server = espalier_testkit::servers::Etcd::shared()?;
    let url = server.url(&format!("policy={policy}"));
    Some(move || open(&url))
}

#[cfg(feature = "mongo")]
fn mongo(policy: &str) -> Option<impl Fn() -> Arc<dyn Driver> + use<>> {
    let server = espalier_testkit::servers::Mongo::shared()?;
    let url = server.url(&format!(
        "durability=relaxed&timeout_ms=60000&page_bytes=512&tail_bytes=4096&policy={policy}"
    ));
    Some(move || open(&url))
}

/// The suite for a local engine under several policies.
macro_rules! suites {
    ($feature:literal, $engine:ident: $($name:ident = $policy:literal),+) => {
        #[cfg(feature = $feature)]
        mod $engine {
            $(mod $name {
                espalier_testkit::conformance!(crate::$engine($policy));
            })+
        }
    };
}

/// The suite for a server, which the test run may exclude, under several policies.
macro_rules! suites_of_server {
    ($feature:literal, $engine:ident: $($name:ident = $policy:literal),+) => {
        #[cfg(feature = $feature)]
        mod $engine {
            $(mod $name {
                espalier_testkit::conformance!({
                    let Some(open) = crate::$engine($policy) else { return };
                    open
                });
            })+
        }
    };
}

suites!("memory", memory: ram = "ram", cached = "cached", recent = "recent", indexed = "indexed");
suites!("embedded", embedded: ram = "ram", cached = "cached", recent = "recent", indexed = "indexed");
suites!("sqlite", sqlite: ram = "ram", cached = "cached", recent = "recent", indexed = "indexed",
    linearizable = "cached&read=linearizable", small = "recent&cache_bytes=10K",
    long = "indexed&value_bytes=10");
suites_of_server!("redis", redis: cached = "cached", recent = "recent", indexed = "indexed",
    linearizable = "cached&read=linearizable");
suites_of_server!("postgres", postgres: cached = "cached", recent = "recent", indexed = "indexed");
suites_of_server!("etcd", etcd: cached = "cached", indexed = "indexed");
suites_of_server!("mongo", mongo: cached = "cached", recent = "recent", indexed = "indexed",
    linearizable = "cached&read=linearizable");
