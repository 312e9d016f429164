//! The pool of connections, and retries.

use std::thread;
use std::time::{Duration, Instant};

use espalier_keyspace::{Error, Result};
use parking_lot::Mutex;
use rand::RngCore;
use redis::{RedisError, RedisResult};

use super::connection::{Connector, ServerConnection};
use super::error::{cluster_member_error, engine_error, is_transient, is_without_reply};
use crate::redis::config::Config;
use crate::tls_probe::{ProbeOptions, Protocol, TlsProbe};

/// The most idle connections that are kept.
const IDLE_MAX: usize = 32;

/// The first and the longest wait before a retry.
const BACKOFF_MIN: Duration = Duration::from_millis(5);
const BACKOFF_MAX: Duration = Duration::from_millis(250);

/// The request and the advice of the probe for TLS.
const PROBE_OPTIONS: ProbeOptions = ProbeOptions {
    plain_request: b"PING\r\n",
    advice_without_tls: "write redis://",
    advice_with_tls: "write rediss://…?ca=FILE",
};

/// A connection with a name and the number of its last commit, by which the commit script recognizes a repeated
/// commit.
pub(crate) struct Session {
    pub(crate) connection: ServerConnection,
    pub(crate) name: String,
    pub(crate) sequence: u64,
}

/// The connections of a driver.
pub(crate) struct Pool {
    connector: Connector,
    tls_probe: TlsProbe,
    /// The servers, for messages.
    pub(crate) address: String,
    pub(crate) timeout: Duration,
    idle: Mutex<Vec<Session>>,
}

impl Pool {
    pub(crate) fn new(config: &Config) -> Result<Self> {
        let asked = Protocol::of_options(config.tls.as_ref());
        Ok(Self {
            connector: Connector::new(config)?,
            tls_probe: TlsProbe::new(&config.servers, asked, PROBE_OPTIONS),
            address: config.servers.shown(),
            timeout: config.timeout,
            idle: Mutex::new(Vec::new()),
        })
    }

    /// The deadline of a call that begins now.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.timeout
    }

    /// Takes an idle connection, or opens one.
    pub(crate) fn take(&self) -> RedisResult<Session> {
        let idle = self.idle.lock().pop();
        if let Some(session) = idle {
            return Ok(session);
        }
        let patience = self.tls_probe.connect_timeout(self.timeout);
        let connection = self.connector.connect(patience)?;
        self.tls_probe.set_confirmed();
        let mut name = [0; 16];
        rand::rng().fill_bytes(&mut name);
        Ok(Session {
            connection,
            name: u128::from_be_bytes(name).to_string(),
            sequence: 0,
        })
    }

    /// Takes an idle connection, or opens one. Retries until the deadline.
    pub(crate) fn take_until(&self, deadline: Instant) -> Result<Session> {
        self.retry_until(deadline, || self.take())
    }

    /// Returns a working connection to the pool.
    pub(crate) fn put_back(&self, session: Session) {
        let mut idle = self.idle.lock();
        if idle.len() < IDLE_MAX {
            idle.push(session);
        }
    }

    /// Drops all idle connections. If one connection broke, the others probably broke, too.
    pub(crate) fn drop_idle(&self) {
        self.idle.lock().clear();
    }

    /// Sends an idempotent request. If the connection breaks, retries with another one until the deadline.
    pub(crate) fn request<T>(
        &self,
        deadline: Instant,
        mut send: impl FnMut(&mut ServerConnection) -> RedisResult<T>,
    ) -> Result<T> {
        self.retry_until(deadline, || {
            let mut session = self.take()?;
            session.connection.wait_at_most(self.timeout)?;
            match send(&mut session.connection) {
                Ok(reply) => {
                    self.put_back(session);
                    Ok(reply)
                }
                Err(error) => {
                    if is_transient(&error) {
                        self.drop_idle();
                    } else {
                        self.put_back(session);
                    }
                    Err(error)
                }
            }
        })
    }

    fn retry_until<T>(
        &self,
        deadline: Instant,
        mut attempt: impl FnMut() -> RedisResult<T>,
    ) -> Result<T> {
        let mut wait = BACKOFF_MIN;
        loop {
            match attempt() {
                Ok(reply) => return Ok(reply),
                Err(error)
                    if is_without_reply(&error)
                        && let Some(mistake) = self.tls_probe.mismatch() =>
                {
                    return Err(mistake);
                }
                Err(error) if self.may_retry(&error) && Instant::now() + wait < deadline => {
                    backoff(&mut wait);
                }
                Err(error) => return Err(self.error(error)),
            }
        }
    }

    fn may_retry(&self, error: &RedisError) -> bool {
        is_transient(error) && !self.connector.is_cluster_member_error(error)
    }

    pub(crate) fn error(&self, error: RedisError) -> Error {
        match self.connector.is_cluster_member_error(&error) {
            true => cluster_member_error(&self.address, &error),
            false => engine_error(&self.address, &error),
        }
    }
}

/// Waits, and doubles the next wait.
pub(crate) fn backoff(wait: &mut Duration) {
    thread::sleep(*wait);
    *wait = (*wait * 2).min(BACKOFF_MAX);
}
