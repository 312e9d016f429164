//! What every connection needs to know, and how its session is set up.

use std::time::Duration;

use super::statements::Texts;
use crate::postgres::config::{CONNECT_TIMEOUT, NAME_BYTES_MAX};
use crate::postgres::{Config, Durability};

/// How much later than its own timeout the server's answer may come.
const ANSWER_SLACK: Duration = Duration::from_secs(10);

/// Settings that make the server choose the index for every page of a scan and every key, whatever it
/// knows of the table, and choose once, notice a client that is gone, and keep values as they are.
const OPTIONAL: &[&str] = &[
    "SET enable_seqscan = off",
    "SET enable_bitmapscan = off",
    "SET enable_sort = off",
    "SET enable_hashjoin = off",
    "SET enable_mergejoin = off",
    "SET plan_cache_mode = force_generic_plan",
    "SET jit = off",
    "SET tcp_keepalives_idle = 30",
    "SET tcp_keepalives_interval = 10",
    "SET tcp_keepalives_count = 3",
];

/// What every connection needs to know.
pub(in crate::postgres) struct Setup {
    pub(super) config: Config,
    pub(super) texts: Texts,
    /// Whether rows have columns for people who query them.
    pub(in crate::postgres) is_readable: bool,
    /// The server in words.
    pub(super) place: String,
}

impl Setup {
    pub(super) fn new(config: Config) -> Self {
        Self {
            texts: Texts::new(&config.schema),
            is_readable: false,
            place: config.place(),
            config,
        }
    }

    /// The same, for rows with columns for people or without.
    pub(super) fn with_columns(mut self, is_readable: bool) -> Self {
        self.is_readable = is_readable;
        if is_readable {
            self.texts = Texts::readable(&self.config.schema);
        }
        self
    }

    pub(super) fn connect_timeout(&self) -> Duration {
        let timeout = self.config.server.get_connect_timeout();
        timeout.copied().unwrap_or(CONNECT_TIMEOUT)
    }

    /// How long an answer may take, after which the connection counts as broken.
    pub(super) fn answer_timeout(&self) -> Duration {
        self.config.statement_timeout + ANSWER_SLACK
    }

    pub(super) fn session_optional(&self) -> impl Iterator<Item = &'static str> {
        OPTIONAL.iter().copied()
    }

    pub(super) fn session(&self) -> String {
        let timeout = self.config.statement_timeout.as_millis();
        let mut text = format!("SET statement_timeout = {timeout}");
        if self.config.durability == Durability::Relaxed {
            text.push_str("; SET synchronous_commit = off");
        }
        text
    }

    /// The channel on which commits are made known: a name that needs no quotes.
    pub(super) fn channel(&self) -> String {
        let mut name = format!("espalier_{}", self.config.schema);
        name.truncate(NAME_BYTES_MAX);
        name
    }
}
