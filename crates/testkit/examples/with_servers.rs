//! Runs a command while PostgreSQL, Redis, etcd and MongoDB run beside it, on free ports and in temporary
//! folders, as durable as they are installed to be; of Redis two, one that flushes its log with every
//! commit and one that has no log, as its packages install it. Their URLs are in
//! `ESPALIER_BENCH_SERVERS`.
//!
//! ```console
//! $ cargo run -p espalier-testkit --no-default-features --example with_servers -- \
//!       target/release/espalier bench drivers --sizes 1000
//! ```

use std::process::{Command, ExitCode};

use espalier_testkit::servers::{Etcd, Mongo, Postgres, Redis};

/// Where the bench looks for servers.
const VARIABLE: &str = "ESPALIER_BENCH_SERVERS";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(program) = arguments.next() else {
        eprintln!("usage: with_servers COMMAND [ARGUMENT...]");
        return ExitCode::from(2);
    };
    let postgres = Postgres::start(&[]);
    let redis = Redis::start(&["--appendonly", "yes", "--appendfsync", "always"]);
    let redis_relaxed = Redis::start(&["--appendonly", "no"]);
    let etcd = Etcd::start_on_disk();
    let mongo = Mongo::start_on_disk();
    let urls = [
        postgres.as_ref().map(Postgres::base),
        redis.as_ref().map(|redis| told(redis, "durable")),
        redis_relaxed.as_ref().map(|redis| told(redis, "relaxed")),
        etcd.as_ref().map(Etcd::base),
        mongo.as_ref().map(Mongo::base),
    ];
    let urls: Vec<_> = urls.into_iter().flatten().collect();
    let status = Command::new(&program)
        .args(arguments)
        .env(VARIABLE, urls.join(" "))
        .status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(status) => {
            eprintln!("{program}: {status}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{program}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A server for commits that are so durable, and for no others.
fn told(redis: &Redis, durability: &str) -> String {
    format!("{}?durability={durability}", redis.base())
}
