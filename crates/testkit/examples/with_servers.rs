//! Runs a command while PostgreSQL, Redis and etcd run beside it, on free ports and in temporary
//! folders, as durable as they are installed to be. Their URLs are in `ESPALIER_BENCH_SERVERS`. The
//! MongoDB server of the tests is left out: it reads whole collections, and no figure of it would tell
//! anything about MongoDB.
//!
//! ```console
//! $ cargo run -p espalier-testkit --no-default-features --example with_servers -- \
//!       target/release/espalier bench drivers --sizes 1000
//! ```

use std::process::{Command, ExitCode};

use espalier_testkit::servers::{Etcd, Postgres, Redis};

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
    let etcd = Etcd::start_on_disk();
    let urls = [
        postgres.as_ref().map(Postgres::base),
        redis.as_ref().map(Redis::base),
        etcd.as_ref().map(Etcd::base),
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
