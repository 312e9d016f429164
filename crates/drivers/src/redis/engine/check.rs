//! Checks the stored data, measures its size, and makes it durable.

use std::thread;
use std::time::{Duration, Instant};

use super::connection::bytes;
use super::open::{Engine, info_field};
use espalier_keyspace::{Error, ErrorKind, Finding, Result, Usage};

/// Values that are sampled to estimate the size of all.
const SAMPLES: u32 = 100;

/// The time after which a server with `appendfsync everysec` has flushed its log.
const EVERY_SECOND: Duration = Duration::from_secs(2);

/// The longest that a flush waits for a snapshot file.
const SAVE_TIMEOUT: Duration = Duration::from_secs(600);

/// The interval of polling for the snapshot file.
const SAVE_POLL: Duration = Duration::from_millis(20);

/// Returns the number of keys, and the bytes of memory that the server uses for the key space.
pub(crate) fn usage(engine: &Engine) -> Result<Usage> {
    let names = &engine.names;
    let number = |command: &redis::Cmd| -> Result<u64> {
        let value = engine.request(|connection| connection.run(command))?;
        Ok(redis::from_redis_value::<Option<u64>>(value)
            .ok()
            .flatten()
            .unwrap_or(0))
    };
    let mut total = 0;
    for name in [
        &names.meta,
        &names.keys,
        &names.values,
        &names.rows,
        &names.undo,
        &names.before,
        &names.packed,
        &names.pending,
        &names.queue,
        &names.log,
    ] {
        let mut command = redis::cmd("MEMORY");
        command.arg("USAGE").arg(name).arg("SAMPLES").arg(SAMPLES);
        total += number(&command)?;
    }
    let count = |name: &str| number(redis::cmd("ZCARD").arg(name));
    let mut packed_rows = redis::cmd("HGET");
    packed_rows.arg(&names.meta).arg("packed_rows");
    Ok(Usage {
        keys: count(&names.keys)?.saturating_sub(count(&names.runs)?) + number(&packed_rows)?,
        bytes: total,
    })
}

/// Checks that every key has a value, that runs are complete, and that there are not more values than keys.
pub(crate) fn check(engine: &Engine) -> Result<Vec<Finding>> {
    let names = &engine.names;
    let mut findings = Vec::new();
    let mut least = b"-".to_vec();
    loop {
        let mut reply = engine.request(|connection| {
            let keys: [&str; 4] = [&names.keys, &names.runs, &names.values, &names.rows];
            connection.script(&engine.scripts.check, &keys, &[&least])
        })?;
        let last = reply.bytes()?;
        for problem in ["the key has no value", "the rows of its run are incomplete"] {
            for key in reply.list()? {
                let key = bytes(key)?.unwrap_or_default();
                findings.push(Finding {
                    place: format!("key {}", key.escape_ascii()),
                    problem: problem.to_owned(),
                });
            }
        }
        let (keys, values) = (reply.number()?, reply.number()?);
        let Some(last) = last else {
            if findings.is_empty() && keys != values {
                findings.push(Finding {
                    place: names.values.clone(),
                    problem: format!("there are {values} values for {keys} keys"),
                });
            }
            return Ok(findings);
        };
        least = [b"(", &last[..]].concat();
    }
}

/// Waits until all commits are on the server's disk: in its append-only file if it has one, else in a snapshot
/// file.
pub(crate) fn flush(engine: &Engine) -> Result<()> {
    let log = engine.config_value("appendonly")?.unwrap_or_default();
    let often = engine.config_value("appendfsync")?.unwrap_or_default();
    match (log.as_str(), often.as_str()) {
        ("yes", "always") => Ok(()),
        ("yes", "everysec") => {
            thread::sleep(EVERY_SECOND);
            let text = engine.info("persistence")?;
            match info_field(&text, "aof_last_write_status") {
                Some("ok") | None => Ok(()),
                Some(_) => Err(not_saved()),
            }
        }
        _ => save(engine),
    }
}

fn not_saved() -> Error {
    let message = "the Redis server cannot write to its disk; look at its log";
    Error::new(ErrorKind::Full, message)
}

/// Makes the server write a snapshot file, after any that is in progress.
fn save(engine: &Engine) -> Result<()> {
    let start = Instant::now();
    loop {
        wait_saved(engine)?;
        let command = redis::cmd("BGSAVE");
        if engine
            .request_permitted(|connection| connection.run(&command))?
            .is_some()
        {
            return wait_saved(engine);
        }
        // Another client has started one in between, which may lack the newest commits.
        if start.elapsed() > SAVE_TIMEOUT {
            return Err(not_saved());
        }
        thread::sleep(SAVE_POLL);
    }
}

fn wait_saved(engine: &Engine) -> Result<()> {
    let start = Instant::now();
    loop {
        let text = engine.info("persistence")?;
        if info_field(&text, "rdb_bgsave_in_progress") != Some("1") {
            return match info_field(&text, "rdb_last_bgsave_status") {
                Some("ok") | None => Ok(()),
                Some(_) => Err(not_saved()),
            };
        }
        if start.elapsed() > SAVE_TIMEOUT {
            return Err(not_saved());
        }
        thread::sleep(SAVE_POLL);
    }
}
