//! The event streams of an anchor.

use espalier_store::{EventSettings, Timestamp, Tree};
use espalier_yang::schema::NodeKind;
use espalier_yang::{DataError, ErrorTag, Schema};

use super::event::Event;

/// The name of the stream with all events (RFC 5277 §3.2.3).
pub const NETCONF_STREAM: &str = "NETCONF";

/// The name of the stream with the commits of running.
pub const COMMITS_STREAM: &str = "espalier-commits";

/// The module of the notification of a commit.
pub(super) const COMMIT_MODULE: &str = "espalier-notifications";

/// The module of the server's notifications (RFC 6470).
pub(super) const BASE_MODULE: &str = "ietf-netconf-notifications";

/// An event stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Stream {
    /// All events.
    #[default]
    Netconf,
    /// The commits of running.
    Commits,
    /// The notifications that a module defines.
    Module(Box<str>),
}

/// The description of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamInfo {
    /// Its name.
    pub name: String,
    /// What it has.
    pub description: String,
    /// When its past events begin: now if there are none yet.
    pub created: Timestamp,
    /// When the newest event that was deleted from the log was recorded; `None` if none was.
    pub aged: Option<Timestamp>,
}

impl Stream {
    /// The stream with a name.
    ///
    /// # Errors
    /// `invalid-value` if there is none.
    pub fn parse(name: &str, schema: &Schema, settings: &EventSettings) -> Result<Self, DataError> {
        match name {
            NETCONF_STREAM => Ok(Self::Netconf),
            COMMITS_STREAM => Ok(Self::Commits),
            _ if settings.module_streams && modules(schema).contains(&name) => {
                Ok(Self::Module(name.into()))
            }
            _ => Err(no_stream(name)),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Netconf => NETCONF_STREAM,
            Self::Commits => COMMITS_STREAM,
            Self::Module(name) => name,
        }
    }

    /// The streams of an anchor, whose running is `tree`.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn list(tree: &Tree) -> espalier_store::Result<Vec<StreamInfo>> {
        let (settings, log) = (tree.event_settings()?, tree.event_log()?);
        let now = tree.store().now();
        let logged = match log.last {
            0 => now,
            _ => log.created,
        };
        let committed = tree.oldest_commit()?.map_or(now, |oldest| oldest.time);
        let aged = (log.aged > Timestamp::default()).then_some(log.aged);
        let stream = |name: &str, description: String, created, aged| StreamInfo {
            name: name.to_owned(),
            description,
            created,
            aged,
        };
        let of_commits = "Commits of running".to_owned();
        let mut streams = vec![
            stream(
                NETCONF_STREAM,
                "All events".to_owned(),
                logged.min(committed),
                aged,
            ),
            stream(COMMITS_STREAM, of_commits, committed, None),
        ];
        if settings.module_streams {
            let names = modules(tree.schema());
            streams.extend(
                names
                    .iter()
                    .map(|name| stream(name, format!("Notifications of {name}"), logged, aged)),
            );
        }
        Ok(streams)
    }

    /// Whether an event is in the stream.
    pub(super) fn includes(&self, event: &Event) -> bool {
        match self {
            Self::Netconf => true,
            Self::Commits => event.module() == COMMIT_MODULE,
            Self::Module(module) => event.module() == &**module,
        }
    }

    /// Whether it has events of a source.
    pub(super) fn has(&self, source: Source) -> bool {
        match (self, source) {
            (Self::Netconf, _) | (Self::Commits, Source::Commits) => true,
            (Self::Commits, Source::Log) => false,
            (Self::Module(_), Source::Log) => true,
            (Self::Module(module), Source::Commits) => {
                [COMMIT_MODULE, BASE_MODULE].contains(&&**module)
            }
        }
    }

    /// The sources of its events.
    pub(super) fn sources(&self) -> Vec<Source> {
        let all = Source::ALL.into_iter();
        all.filter(|source| self.has(*source)).collect()
    }
}

/// The error of a stream that does not exist, or that the user may not read.
pub(super) fn no_stream(name: &str) -> DataError {
    let message = format!("there is no event stream “{name}”");
    DataError::new(ErrorTag::InvalidValue, message)
}

/// A source of recorded events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The event log.
    Log,
    /// The history of running.
    Commits,
}

impl Source {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Log, Self::Commits];
}

/// The modules that define notifications, in the order of the schema.
fn modules(schema: &Schema) -> Vec<&str> {
    let mut modules: Vec<&str> = Vec::new();
    let notifications = schema
        .nodes()
        .filter(|node| matches!(node.kind, NodeKind::Notification));
    for node in notifications {
        let name = &*schema.module(node.module).name;
        if !modules.contains(&name) {
            modules.push(name);
        }
    }
    modules
}
