//! Redis without Espalier: keys in a sorted set, values in a hash, a transaction for each commit.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ::redis::{Client, Cmd, Commands, Connection, Pipeline, RedisError, RedisResult, pipe};
use espalier_keyspace::{Direction, KeyRange};

use super::client::RawEngine;
use super::contents::Contents;
use super::operation_runs::{Run, runs};
use crate::recorder::{ReadStep, Trace};
use espalier_terminal::{Failure, Result};

/// The number of entries per command of a load.
const LOADED_AT_ONCE: usize = 1000;

/// A connection.
pub struct Redis {
    connection: Mutex<Connection>,
    keys: String,
    values: String,
}

/// Deletes the keys of a store: a store without rows keeps the number of its last commit.
pub fn remove(url: &str, prefix: &str) -> Result<()> {
    let mut connection = connect(url)?;
    let keys: RedisResult<Vec<String>> = connection
        .scan_match(format!("{{{prefix}}}:*"))
        .and_then(Iterator::collect);
    for key in keys.map_err(failed)? {
        connection.unlink::<_, ()>(key).map_err(failed)?;
    }
    Ok(())
}

fn connect(url: &str) -> Result<Connection> {
    let url = url.split('?').next().unwrap_or(url);
    let connection = Client::open(url).and_then(|client| client.get_connection());
    connection.map_err(failed)
}

impl Redis {
    /// Connects, with empty keys of a name.
    pub fn create(url: &str, name: &str) -> Result<Self> {
        Ok(Self {
            connection: Mutex::new(connect(url)?),
            keys: format!("{name}:keys"),
            values: format!("{name}:values"),
        })
    }

    /// Ignores poisoning: a connection is consistent between commands, and a failed command ends the bench.
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, pipeline: &mut Pipeline, pairs: &[(&[u8], &[u8])]) {
        let mut add = Cmd::new();
        add.arg("ZADD").arg(&self.keys);
        let mut set = Cmd::new();
        set.arg("HSET").arg(&self.values);
        for (key, value) in pairs {
            add.arg(0).arg(*key);
            set.arg(*key).arg(*value);
        }
        pipeline.add_command(add).ignore().add_command(set).ignore();
    }

    fn delete<K: AsRef<[u8]>>(&self, pipeline: &mut Pipeline, keys: &[K]) {
        let (mut remove, mut delete) = (Cmd::new(), Cmd::new());
        remove.arg("ZREM").arg(&self.keys);
        delete.arg("HDEL").arg(&self.values);
        for key in keys {
            remove.arg(key.as_ref());
            delete.arg(key.as_ref());
        }
        pipeline
            .add_command(remove)
            .ignore()
            .add_command(delete)
            .ignore();
    }

    fn keys_in(
        &self,
        connection: &mut Connection,
        range: &KeyRange,
        direction: Direction,
        count: usize,
    ) -> RedisResult<Vec<Vec<u8>>> {
        let least = [b"[", range.start.as_slice()].concat();
        let greatest = match &range.end {
            Some(end) => [b"(", end.as_slice()].concat(),
            None => b"+".to_vec(),
        };
        let mut command = match direction {
            Direction::Forward => {
                let mut command = Cmd::new();
                command
                    .arg("ZRANGEBYLEX")
                    .arg(&self.keys)
                    .arg(least)
                    .arg(greatest);
                command
            }
            Direction::Backward => {
                let mut command = Cmd::new();
                command
                    .arg("ZREVRANGEBYLEX")
                    .arg(&self.keys)
                    .arg(greatest)
                    .arg(least);
                command
            }
        };
        command.arg("LIMIT").arg(0).arg(count);
        command.query(connection)
    }

    fn read(&self, connection: &mut Connection, step: &ReadStep) -> RedisResult<usize> {
        let (range, direction, count) = match step {
            ReadStep::Get(key) => {
                let mut get = Cmd::new();
                get.arg("HGET").arg(&self.values).arg(key);
                let value: Option<Vec<u8>> = get.query(connection)?;
                return Ok(value.map_or(0, |value| value.len()));
            }
            ReadStep::GetMany(keys) => {
                let mut get = Cmd::new();
                get.arg("HMGET").arg(&self.values).arg(keys);
                let values: Vec<Option<Vec<u8>>> = get.query(connection)?;
                return Ok(values.iter().flatten().map(Vec::len).sum());
            }
            ReadStep::Scan(range, direction, count) => (range, *direction, *count),
        };
        let keys = self.keys_in(connection, range, direction, count)?;
        if keys.is_empty() {
            return Ok(0);
        }
        let mut get = Cmd::new();
        get.arg("HMGET").arg(&self.values).arg(&keys);
        let values: Vec<Option<Vec<u8>>> = get.query(connection)?;
        let bytes = |(key, value): (&Vec<u8>, &Option<Vec<u8>>)| {
            key.len() + value.as_ref().map_or(0, Vec::len)
        };
        Ok(keys.iter().zip(&values).map(bytes).sum())
    }

    fn commit(
        &self,
        connection: &mut Connection,
        operations: &[espalier_keyspace::Operation],
    ) -> RedisResult<()> {
        let mut pipeline = pipe();
        pipeline.atomic();
        for run in runs(operations) {
            match run {
                Run::Puts(pairs) => self.put(&mut pipeline, &pairs),
                Run::Deletes(keys) => self.delete(&mut pipeline, &keys),
                Run::DeleteRange(range) => {
                    let keys =
                        self.keys_in(connection, range, Direction::Forward, usize::MAX >> 1)?;
                    if !keys.is_empty() {
                        self.delete(&mut pipeline, &keys);
                    }
                }
                Run::Add(key, delta) => {
                    let mut add = Cmd::new();
                    add.arg("HINCRBY").arg(format!("{}:sums", self.values));
                    pipeline
                        .add_command(add.arg(key).arg(delta).clone())
                        .ignore();
                }
            }
        }
        pipeline.query(connection)
    }
}

impl RawEngine for Redis {
    fn load(&self, contents: &Contents) -> Result<()> {
        let pairs: Vec<_> = contents.iter().collect();
        let mut pipeline = pipe();
        for some in pairs.chunks(LOADED_AT_ONCE) {
            self.put(&mut pipeline, some);
        }
        pipeline.query(&mut *self.connection()).map_err(failed)
    }

    fn replay(&self, trace: &Trace) -> Result<usize> {
        let mut connection = self.connection();
        let mut bytes = 0;
        for step in &trace.reads {
            bytes += self.read(&mut connection, step).map_err(failed)?;
        }
        for operations in &trace.commits {
            self.commit(&mut connection, operations).map_err(failed)?;
        }
        Ok(bytes)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let mut remove = Cmd::new();
        let sums = format!("{}:sums", self.values);
        remove
            .arg("UNLINK")
            .arg(&self.keys)
            .arg(&self.values)
            .arg(sums);
        // Anything left over has a unique name and disturbs nothing.
        drop(remove.query::<()>(&mut *self.connection()));
    }
}

fn failed(error: RedisError) -> Failure {
    Failure::data(format!("raw Redis: {error}"))
}
