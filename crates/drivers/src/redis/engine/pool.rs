//! Connections that are kept, and what is tried again.

use std::thread;
use std::time::{Duration, Instant};

use espalier_keyspace::{Error, Result};
use parking_lot::Mutex;
use rand::RngCore;
use redis::{RedisError, RedisResult};

use super::error::{broken, cluster_missed, engine_error, is_wordless};
use super::link::{Connector, Link};
use crate::redis::config::Config;
use crate::tls_probe::{ProbeOptions, Protocol, TlsProbe};

/// Connections that are kept while nobody uses them.
const IDLE_MAX: usize = 32;

/// How long to wait before connecting again, at first and at most.
const BACKOFF_MIN: Duration = Duration::from_millis(5);
const BACKOFF_MAX: Duration = Duration::from_millis(250);

/// How a server is asked whether it speaks TLS.
const PROBE_OPTIONS: ProbeOptions = ProbeOptions {
    plain_request: b"PING\r\n",
    advice_without_tls: "write redis://",
    advice_with_tls: "write rediss://…?ca=FILE",
};

/// A connection, its name for the commit script, and the number of its last commit.
pub(crate) struct Lane {
    pub(crate) link: Link,
    pub(crate) name: String,
    pub(crate) sequence: u64,
}

/// The connections of a driver.
pub(crate) struct Pool {
    connector: Connector,
    tls_probe: TlsProbe,
    /// The servers, for messages.
    pub(crate) place: String,
    pub(crate) timeout: Duration,
    idle: Mutex<Vec<Lane>>,
}

impl Pool {
    pub(crate) fn new(config: &Config) -> Result<Self> {
        let protocol = Protocol::of_options(config.tls.as_ref());
        Ok(Self {
            connector: Connector::new(config)?,
            tls_probe: TlsProbe::new(&config.servers, protocol, PROBE_OPTIONS),
            place: config.servers.shown(),
            timeout: config.timeout,
            idle: Mutex::new(Vec::new()),
        })
    }

    /// When a call that begins now has to end.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.timeout
    }

    /// A connection, kept or new.
    pub(crate) fn take(&self) -> RedisResult<Lane> {
        let idle = self.idle.lock().pop();
        if let Some(lane) = idle {
            return Ok(lane);
        }
        let timeout = self.tls_probe.connect_timeout(self.timeout);
        let link = self.connector.connect(timeout)?;
        self.tls_probe.set_confirmed();
        let mut name = [0; 16];
        rand::rng().fill_bytes(&mut name);
        Ok(Lane {
            link,
            name: u128::from_be_bytes(name).to_string(),
            sequence: 0,
        })
    }

    /// A connection of one's own, tried for until the deadline.
    pub(crate) fn take_until(&self, deadline: Instant) -> Result<Lane> {
        self.until(deadline, || self.take())
    }

    /// Keeps a connection that works for the next user.
    pub(crate) fn give_back(&self, lane: Lane) {
        let mut idle = self.idle.lock();
        if idle.len() < IDLE_MAX {
            idle.push(lane);
        }
    }

    /// Forgets the kept connections: the server has broken one of them, so the others are as old.
    pub(crate) fn forget(&self) {
        self.idle.lock().clear();
    }

    /// Asks, on another connection when one breaks, until the deadline. For what may be asked
    /// twice only.
    pub(crate) fn ask<T>(
        &self,
        deadline: Instant,
        mut question: impl FnMut(&mut Link) -> RedisResult<T>,
    ) -> Result<T> {
        self.until(deadline, || {
            let mut lane = self.take()?;
            lane.link.wait_at_most(self.timeout)?;
            match question(&mut lane.link) {
                Ok(answer) => {
                    self.give_back(lane);
                    Ok(answer)
                }
                Err(error) => {
                    if broken(&error) {
                        self.forget();
                    } else {
                        self.give_back(lane);
                    }
                    Err(error)
                }
            }
        })
    }

    fn until<T>(
        &self,
        deadline: Instant,
        mut attempt: impl FnMut() -> RedisResult<T>,
    ) -> Result<T> {
        let mut wait = BACKOFF_MIN;
        loop {
            match attempt() {
                Ok(answer) => return Ok(answer),
                Err(error)
                    if is_wordless(&error)
                        && let Some(mismatch) = self.tls_probe.mismatch() =>
                {
                    return Err(mismatch);
                }
                Err(error) if self.may_pass(&error) && Instant::now() + wait < deadline => {
                    backoff(&mut wait);
                }
                Err(error) => return Err(self.error(error)),
            }
        }
    }

    fn may_pass(&self, error: &RedisError) -> bool {
        broken(error) && !self.connector.misses_cluster(error)
    }

    pub(crate) fn error(&self, error: RedisError) -> Error {
        match self.connector.misses_cluster(&error) {
            true => cluster_missed(&self.place, &error),
            false => engine_error(&self.place, &error),
        }
    }
}

/// Waits, and waits longer the next time.
pub(crate) fn backoff(wait: &mut Duration) {
    thread::sleep(*wait);
    *wait = (*wait * 2).min(BACKOFF_MAX);
}
