//! Runs a command while PostgreSQL, Redis and etcd run beside it, on free ports and in temporary
//! folders, as durable as they are installed to be; of Redis two, one that flushes its log with every
//! commit and one that has no log, as its packages install it. Their URLs are in
//! `ESPALIER_BENCH_SERVERS`. The
//! MongoDB server of the tests runs instead of them where `--mongodb` comes first: it is FerretDB over
//! SQLite, so its figures tell nothing of MongoDB, but for the number of commands that wait for each
//! other.
//!
//! ```console
//! $ cargo run -p espalier-testkit --no-default-features --example with_servers -- \
//!       target/release/espalier bench drivers --sizes 1000
//! $ cargo run -p espalier-testkit --no-default-features --example with_servers -- \
//!       --mongodb target/release/espalier bench drivers --sizes 1000 --drivers servers
//! ```

use std::process::{Command, ExitCode, ExitStatus};

use espalier_testkit::servers::{Etcd, Mongo, Postgres, Redis};

/// Where the bench looks for servers.
const VARIABLE: &str = "ESPALIER_BENCH_SERVERS";

/// Asks for the MongoDB server instead.
const MONGODB: &str = "--mongodb";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    let has_mongo = arguments.next_if(|argument| argument == MONGODB).is_some();
    let Some(program) = arguments.next() else {
        eprintln!("usage: with_servers [--mongodb] COMMAND [ARGUMENT...]");
        return ExitCode::from(2);
    };
    let status = match has_mongo {
        true => {
            let mongo = Mongo::start();
            run(&program, arguments, [mongo.as_ref().map(Mongo::base)])
        }
        false => {
            let postgres = Postgres::start(&[]);
            let redis = Redis::start(&["--appendonly", "yes", "--appendfsync", "always"]);
            let redis_relaxed = Redis::start(&["--appendonly", "no"]);
            let etcd = Etcd::start_on_disk();
            let urls = [
                postgres.as_ref().map(Postgres::base),
                redis.as_ref().map(|redis| told(redis, "durable")),
                redis_relaxed.as_ref().map(|redis| told(redis, "relaxed")),
                etcd.as_ref().map(Etcd::base),
            ];
            run(&program, arguments, urls)
        }
    };
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

fn run(
    program: &str,
    arguments: impl Iterator<Item = String>,
    urls: impl IntoIterator<Item = Option<String>>,
) -> std::io::Result<ExitStatus> {
    let urls: Vec<_> = urls.into_iter().flatten().collect();
    Command::new(program)
        .args(arguments)
        .env(VARIABLE, urls.join(" "))
        .status()
}

/// A server for commits that are so durable, and for no others.
fn told(redis: &Redis, durability: &str) -> String {
    format!("{}?durability={durability}", redis.base())
}
