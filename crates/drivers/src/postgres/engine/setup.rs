//! The configuration of connections, and the settings of their sessions.

use std::time::Duration;

use super::statements::Texts;
use crate::postgres::config::{CONNECT_TIMEOUT, NAME_BYTES_MAX};
use crate::postgres::{Config, Durability};

/// How long to wait for the server's response beyond its own statement timeout.
const ANSWER_SLACK: Duration = Duration::from_secs(10);

/// Settings that not every server supports. They make the planner use the index for every key and every page of a
/// scan, regardless of its statistics, plan only once, and detect a client that is gone.
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

/// The configuration that all connections share.
pub(in crate::postgres) struct Setup {
    pub(super) config: Config,
    pub(super) texts: Texts,
    /// Whether the tables have readable columns.
    pub(in crate::postgres) is_readable: bool,
    /// The hosts and ports of the server, for messages.
    pub(super) address: String,
}

impl Setup {
    pub(super) fn new(config: Config) -> Self {
        Self {
            texts: Texts::new(&config.schema),
            is_readable: false,
            address: config.address(),
            config,
        }
    }

    /// Sets whether the tables have readable columns.
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

    /// How long to wait for a response. After that the connection counts as broken.
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

    /// The channel of notifications of commits: a name that needs no quotes.
    pub(super) fn channel(&self) -> String {
        let mut name = format!("espalier_{}", self.config.schema);
        name.truncate(NAME_BYTES_MAX);
        name
    }
}
