//! Opens a key space: checks the server's version, its durability settings, and the format of the key space.

use std::fmt;
use std::time::Instant;

use espalier_keyspace::{Error, ErrorKind, Result, Version};
use parking_lot::RwLock;
use redis::{RedisError, Value};

use super::connection::{Reply, ServerConnection};
use super::error::unexpected_reply;
use super::names::KeyNames;
use super::pool::Pool;
use super::script::Scripts;
use crate::durability::Durability;
use crate::effective_durability::EffectiveDurability;
use crate::redis::config::Config;

/// The format version that this code reads and writes.
pub const FORMAT: u64 = 5;

/// The format version that is upgraded. Its log has all runs of a commit in one field.
const FORMAT_UPGRADED: u64 = 4;

/// The most bytes of a batch that is sent with the commit script: 16 MiB. A larger one is staged first.
pub const DIRECT_BYTES_MAX: usize = 16 << 20;

/// The most operations of a batch that saves what it overwrites. A larger batch ends all older snapshots.
pub const UNDO_OPERATIONS_MAX: usize = 200_000;

/// The number of commits that the log keeps for watchers.
pub const LOG_COMMITS_MAX: usize = 4096;

/// The most bytes of changes that the log keeps for watchers: 16 MiB.
pub const LOG_BYTES_MAX: usize = 16 << 20;

/// The oldest Redis version with all commands that the scripts use.
const SERVER_VERSION_MIN: [u32; 2] = [6, 0];

/// An open key space.
pub(crate) struct Engine {
    pub(crate) pool: Pool,
    pub(crate) names: KeyNames,
    pub(crate) scripts: Scripts,
    pub(crate) undo_bytes: u64,
    /// Locked exclusively by a streamed write, shared by a commit.
    pub(crate) writing: RwLock<()>,
}

/// Returns whether there is a key space, or remains of one.
pub(crate) fn exists(config: &Config) -> Result<bool> {
    let engine = Engine::new(config)?;
    let mut command = redis::cmd("EXISTS");
    command.arg(&engine.names.meta).arg(&engine.names.keys);
    let found = engine.request(|connection| connection.run(&command))?;
    let found: u64 = redis::from_redis_value(found).map_err(|_| unexpected_reply())?;
    Ok(found > 0)
}

/// The durability of commits with the server's current settings.
pub(crate) fn durability(config: &Config) -> Result<EffectiveDurability> {
    let engine = Engine::new(config)?;
    Ok(match engine.persistence_settings()? {
        Some(settings) if settings.are_durable() => EffectiveDurability::Durable,
        Some(settings) => EffectiveDurability::Relaxed(Some(settings.to_string())),
        None => EffectiveDurability::Relaxed(Some(
            "the settings of the server cannot be read".to_owned(),
        )),
    })
}

/// The settings of the server's append-only file.
#[derive(Debug)]
struct PersistenceSettings {
    appendonly: String,
    appendfsync: String,
}

impl PersistenceSettings {
    fn are_durable(&self) -> bool {
        self.appendonly == "yes" && self.appendfsync == "always"
    }
}

impl fmt::Display for PersistenceSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (only, fsync) = (&self.appendonly, &self.appendfsync);
        write!(out, "appendonly is {only}, appendfsync is {fsync}")
    }
}

/// Connects, and creates the key space if there is none.
pub(crate) fn open(config: Config) -> Result<Engine> {
    let engine = Engine::new(&config)?;
    engine.check_server(config.durability)?;
    let [format, before] = [FORMAT, FORMAT_UPGRADED].map(|format| format.to_string());
    let mut reply = engine.request(|connection| {
        let script = &engine.scripts.open;
        let names = [engine.names.meta.as_str(), &engine.names.keys];
        connection.script(script, &names, &[format.as_bytes(), before.as_bytes()])
    })?;
    let found = reply.bytes()?.unwrap_or_default();
    if found != format.as_bytes() {
        return Err(wrong_format(&found));
    }
    Ok(engine)
}

fn wrong_format(found: &[u8]) -> Error {
    if found.is_empty() {
        let message = "the key space, or a part of it, was deleted in the server";
        return Error::new(ErrorKind::Corrupt, message);
    }
    let number: Option<u64> = std::str::from_utf8(found)
        .ok()
        .and_then(|text| text.parse().ok());
    let advice = match number {
        Some(number) if number < FORMAT => {
            "use the program that wrote it, and copy its store into a new one with this"
        }
        _ => "use a newer one",
    };
    let message = format!(
        "the key space has format {}; this program reads {FORMAT}; {advice}",
        found.escape_ascii()
    );
    Error::new(ErrorKind::WrongVersion, message)
}

impl Engine {
    /// Creates an engine, which connects on its first request.
    fn new(config: &Config) -> Result<Self> {
        Ok(Self {
            names: KeyNames::new(&config.prefix),
            scripts: Scripts::new(),
            undo_bytes: config.undo_bytes,
            writing: RwLock::new(()),
            pool: Pool::new(config)?,
        })
    }

    /// Sends an idempotent request. Retries until the timeout of a call.
    pub(crate) fn request<T>(
        &self,
        send: impl FnMut(&mut ServerConnection) -> redis::RedisResult<T>,
    ) -> Result<T> {
        self.pool.request(self.pool.deadline(), send)
    }

    /// Sends an idempotent request. Retries until the deadline.
    pub(crate) fn request_until<T>(
        &self,
        deadline: Instant,
        send: impl FnMut(&mut ServerConnection) -> redis::RedisResult<T>,
    ) -> Result<T> {
        self.pool.request(deadline, send)
    }

    /// Reads the version of the newest commit.
    pub(crate) fn newest(&self) -> Result<Version> {
        let mut command = redis::cmd("HGET");
        command.arg(&self.names.meta).arg("version");
        match self.request(|connection| connection.run(&command))? {
            Value::Nil => Err(wrong_format(b"")),
            value => redis::from_redis_value(value)
                .map(Version)
                .map_err(|_| unexpected_reply()),
        }
    }

    /// Returns the reply of a script that reads at a version, or the error that its status means.
    pub(crate) fn checked(&self, mut reply: Reply) -> Result<Reply> {
        match reply.status.as_str() {
            "ok" => Ok(reply),
            "format" => Err(wrong_format(&reply.bytes()?.unwrap_or_default())),
            "old" => Err(Error::new(
                ErrorKind::SnapshotTooOld,
                "too much was committed since this snapshot was taken; take a new one",
            )),
            "lost" => Err(Error::new(
                ErrorKind::Corrupt,
                "the server has lost acknowledged commits: its version decreased; see its settings \
                 appendonly and appendfsync",
            )),
            _ => Err(unexpected_reply()),
        }
    }

    fn check_server(&self, durability: Durability) -> Result<()> {
        let version = self.server_version()?;
        if let Some([major, minor]) = version.filter(|version| *version < SERVER_VERSION_MIN) {
            let message = format!(
                "the server {} is Redis {major}.{minor}; version 6.0 or later is required",
                self.pool.address
            );
            return Err(Error::new(ErrorKind::WrongVersion, message));
        }
        self.check_eviction()?;
        let settings = self.persistence_settings()?;
        let address = &self.pool.address;
        tracing::info!(
            server = address,
            ?settings,
            "Redis appendonly and appendfsync"
        );
        if durability == Durability::Relaxed {
            return Ok(());
        }
        match settings {
            Some(settings) if settings.are_durable() => Ok(()),
            Some(settings) => Err(Error::new(
                ErrorKind::Engine,
                format!(
                    "the server {address} does not make commits durable ({settings}); set them to \
                     yes and always, or add durability=relaxed to the URL"
                ),
            )),
            None => Err(Error::new(
                ErrorKind::Engine,
                format!(
                    "the durability settings of the server {address} cannot be read; allow CONFIG \
                     GET to this user, or add durability=relaxed to the URL"
                ),
            )),
        }
    }

    fn persistence_settings(&self) -> Result<Option<PersistenceSettings>> {
        let both = self
            .config_value("appendonly")?
            .zip(self.config_value("appendfsync")?);
        Ok(both.map(|(appendonly, appendfsync)| PersistenceSettings {
            appendonly,
            appendfsync,
        }))
    }

    /// Fails if the server evicts keys when its memory is full: parts of the key space would be lost silently.
    fn check_eviction(&self) -> Result<()> {
        let limit = self.config_value("maxmemory")?;
        let policy = self.config_value("maxmemory-policy")?;
        match (limit, policy) {
            (Some(limit), Some(policy)) if limit != "0" && policy != "noeviction" => {
                let address = &self.pool.address;
                let message = format!(
                    "the server {address} evicts keys when its memory is full \
                     (maxmemory-policy is {policy}); set maxmemory-policy to noeviction"
                );
                Err(Error::new(ErrorKind::Engine, message))
            }
            _ => Ok(()),
        }
    }

    /// Reads a setting of the server; `None` if that is not permitted.
    pub(crate) fn config_value(&self, name: &str) -> Result<Option<String>> {
        let mut command = redis::cmd("CONFIG");
        command.arg("GET").arg(name);
        let value = self.request_permitted(|connection| connection.run(&command))?;
        let pair: Option<Vec<String>> =
            value.and_then(|value| redis::from_redis_value(single_reply(value)).ok());
        Ok(pair.and_then(|mut pair| pair.pop()))
    }

    /// Reads a section of `INFO`; empty if that is not permitted.
    pub(crate) fn info(&self, section: &str) -> Result<String> {
        let mut command = redis::cmd("INFO");
        command.arg(section);
        let value = self.request_permitted(|connection| connection.run(&command))?;
        let text = value.and_then(|value| redis::from_redis_value(single_reply(value)).ok());
        Ok(text.unwrap_or_default())
    }

    fn server_version(&self) -> Result<Option<[u32; 2]>> {
        let text = self.info("server")?;
        let version = info_field(&text, "redis_version").and_then(|version| {
            let mut numbers = version.split('.').map(|number| number.parse().ok());
            Some([numbers.next()??, numbers.next()??])
        });
        Ok(version)
    }

    /// Sends an idempotent request. Returns `None` if the server or the user's rights do not permit it.
    pub(crate) fn request_permitted(
        &self,
        mut send: impl FnMut(&mut ServerConnection) -> redis::RedisResult<Value>,
    ) -> Result<Option<Value>> {
        self.request(|connection| match send(connection) {
            Err(error) if is_refusal(&error) => Ok(None),
            reply => reply.map(Some),
        })
    }
}

fn is_refusal(error: &RedisError) -> bool {
    matches!(error.code(), Some("NOPERM" | "ERR"))
}

/// The reply of one server, if the servers of a Cluster have replied together.
fn single_reply(value: Value) -> Value {
    match value {
        Value::Map(mut servers) if servers.len() > 1 || is_nested(&servers) => {
            servers.pop().map_or(Value::Nil, |(_, reply)| reply)
        }
        value => value,
    }
}

fn is_nested(servers: &[(Value, Value)]) -> bool {
    let nested = |value: &Value| matches!(value, Value::Array(_) | Value::Map(_));
    servers.iter().any(|(_, reply)| nested(reply))
}

/// The value of a field of `INFO`.
pub(crate) fn info_field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}
