//! Runs a command with PostgreSQL, Redis, etcd and MongoDB servers, on free ports and in temporary
//! directories, with the durability of a default installation. Two Redis servers are started: one that
//! flushes its log with every commit, and one without a log, as its packages install it. Their URLs are
//! passed in `ESPALIER_BENCH_SERVERS`.
//!
//! ```console
//! $ cargo run -p espalier-testkit --no-default-features --example with_servers -- \
//!       target/release/espalier bench drivers --sizes 1000
//! ```

use std::process::{Command, ExitCode};

use espalier_testkit::servers::{Etcd, Mongo, Postgres, Redis};

/// The variable in which the bench expects the URLs of servers.
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
        redis.as_ref().map(|redis| url_for(redis, "durable")),
        redis_relaxed
            .as_ref()
            .map(|redis| url_for(redis, "relaxed")),
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

/// The URL of a server that is used only for commits of this durability.
fn url_for(redis: &Redis, durability: &str) -> String {
    format!("{}?durability={durability}", redis.base())
}
