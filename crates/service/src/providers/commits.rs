//! The commits that programs take part in.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use espalier_store::{
    Committed, Datastore, Diff, Edit, Error, Event, Events, NodeChange, Result, Subscriber,
    Subscription, SubscriptionGuard, Tree,
};
use espalier_yang::data::{MetadataMode, Root};
use espalier_yang::{DataError, ErrorTag, InstancePath, Schema};
use parking_lot::Mutex;
use serde_json::{Map, Value as Json};

use super::connection::{CALL_TIMEOUT, SharedConnection, data_of};
use super::description::{CommitPhase, CommitRole};
use super::messages::{ChangeList, parse_data};
use super::state::seconds;

/// How often the thread of a role looks whether its connection is closed.
const CLOSED_CHECK: Duration = Duration::from_millis(200);

/// A program that takes part in commits before they are made.
struct ProgramSubscriber {
    connection: SharedConnection,
    role: usize,
    paths: Vec<String>,
    timeout: Duration,
    edits: bool,
    decides: bool,
    /// The reason why the edits of the last update are not usable: reported by the decision that follows.
    failed_update: Mutex<Option<DataError>>,
}

/// Registers a role, until the result is dropped. The commits that are made go to the program from a thread of their own.
///
/// # Errors
/// A path is not in the models; the datastore has no commits; `since` is no version that is kept.
pub(super) fn register(
    connection: &SharedConnection,
    tree: &Tree,
    (number, role): (usize, &CommitRole),
) -> Result<Vec<SubscriptionGuard>> {
    let datastore = match &role.datastore {
        Some(name) => Datastore::parse(name)?,
        None => Datastore::Running,
    };
    let tree = tree.sibling_datastore(datastore, "")?;
    let parse = |path: &String| InstancePath::parse_pattern(tree.schema(), path);
    let paths: Vec<InstancePath> = role
        .paths
        .iter()
        .map(parse)
        .collect::<std::result::Result<_, _>>()?;
    let has = |phase| role.phases.contains(&phase);
    let mut guards = Vec::new();
    if has(CommitPhase::Update) || has(CommitPhase::Change) {
        let subscriber = ProgramSubscriber {
            role: number,
            connection: Arc::clone(connection),
            paths: role.paths.clone(),
            timeout: seconds(role.timeout, CALL_TIMEOUT)?,
            edits: has(CommitPhase::Update),
            decides: has(CommitPhase::Change),
            failed_update: Mutex::default(),
        };
        let subscription = Subscription {
            paths: paths.clone(),
            priority: role.priority,
        };
        guards.push(tree.subscribe(subscription, Arc::new(subscriber))?);
    }
    if has(CommitPhase::Done) {
        let reporter = Reporter {
            role: number,
            connection: Arc::clone(connection),
            // Subscribed before the newest version is read, so that no commit is between both.
            events: tree.events(paths)?,
            paths: role.paths.clone(),
            known: match role.since {
                Some(since) => since,
                None => tree.view()?.version()?,
            },
            tree,
        };
        reporter.check_since()?;
        let thread = thread::Builder::new().name("provider commits".to_owned());
        let spawned = thread.spawn(move || reporter.run());
        spawned.map_err(|error| {
            let message = format!("no thread for a program: {error}");
            Error::data(ErrorTag::ResourceDenied, message)
        })?;
    }
    Ok(guards)
}

/// The paths of a role, in a schema; those that it does not have are left out.
fn paths_in(schema: &Schema, texts: &[String]) -> Vec<InstancePath> {
    let parsed = texts.iter();
    let parsed = parsed.filter_map(|path| InstancePath::parse_pattern(schema, path).ok());
    parsed.collect()
}

/// Whether a change is at or below a path of a role.
fn concerns(change: &NodeChange, texts: &[String], paths: &[InstancePath]) -> bool {
    texts.is_empty() || paths.iter().any(|path| change.is_below(path))
}

/// The changes of a commit that a role with these paths gets.
fn changes_of(diff: &Diff, texts: &[String]) -> ChangeList {
    let paths = paths_in(diff.schema(), texts);
    let mut list = ChangeList::default();
    for change in diff.changes() {
        if concerns(&change, texts, &paths) {
            list.add(diff.schema(), &change);
        }
    }
    list
}

impl ProgramSubscriber {
    /// A call with the changes of the role.
    fn message(&self, diff: &Diff) -> Map<String, Json> {
        let mut message = Map::new();
        message.insert("role".to_owned(), self.role.into());
        changes_of(diff, &self.paths).put(&mut message);
        message
    }

    fn error(&self, failure: super::CallFailure) -> DataError {
        let errors = failure.into_errors(self.connection.name());
        let first = errors.iter().next().cloned();
        first.unwrap_or_else(|| DataError::new(ErrorTag::OperationFailed, "the program refused"))
    }

    fn edits_of(&self, diff: &Diff) -> std::result::Result<Option<Edit>, DataError> {
        let answer = self
            .connection
            .call("update", self.message(diff), self.timeout, &|| true)
            .map_err(|failure| self.error(failure))?;
        let Some(data) = data_of(answer) else {
            return Ok(None);
        };
        let (schema, root) = (diff.schema(), Root::Datastore);
        let tree = parse_data(schema, root, MetadataMode::Kept, &data).map_err(|errors| {
            let message = format!(
                "{}: its edits are invalid: {errors}",
                self.connection.name()
            );
            DataError::new(ErrorTag::OperationFailed, message)
        })?;
        let root = InstancePath::root();
        Ok((!tree.nodes.is_empty()).then(|| Edit::merge(root, tree)))
    }
}

impl Subscriber for ProgramSubscriber {
    fn may_edit(&self) -> bool {
        self.edits
    }

    fn update(&self, diff: &Diff, edits: &mut Vec<Edit>) {
        match self.edits_of(diff) {
            Ok(edit) => {
                *self.failed_update.lock() = None;
                edits.extend(edit);
            }
            Err(error) => *self.failed_update.lock() = Some(error),
        }
    }

    fn change(&self, diff: &Diff) -> std::result::Result<(), DataError> {
        if let Some(error) = self.failed_update.lock().take() {
            return Err(error);
        }
        if !self.decides {
            return Ok(());
        }
        let decided = self
            .connection
            .call("change", self.message(diff), self.timeout, &|| true);
        decided.map(drop).map_err(|failure| self.error(failure))
    }

    fn abort(&self, diff: &Diff) {
        if self.decides {
            let mut message = self.message(diff);
            message.insert("kind".to_owned(), "abort".into());
            self.connection.send(&Json::Object(message));
        }
    }
}

/// Reports the commits that are made, in order, each at least once.
struct Reporter {
    connection: SharedConnection,
    role: usize,
    tree: Tree,
    events: Events,
    paths: Vec<String>,
    /// The last version that the program knows of.
    known: u64,
}

impl Reporter {
    /// Requires that what changed since the known version can be found.
    fn check_since(&self) -> Result<()> {
        let newest = self.tree.view()?.version()?;
        if self.known == newest {
            return Ok(());
        }
        self.tree.at(self.known).map(drop)
    }

    fn run(mut self) {
        let mut newest = self.known;
        if let Ok(version) = self.tree.view().and_then(|view| view.version()) {
            newest = version;
        }
        let mut is_open = self.catch_up(newest);
        while is_open && !self.connection.is_closed() {
            is_open = match self.events.next(CLOSED_CHECK) {
                None => true,
                Some(Event::Committed(commit)) if commit.version <= self.known => true,
                Some(Event::Committed(commit)) => self.report(&commit),
                Some(Event::Lagged(lagged)) => self.catch_up(lagged.last),
            };
        }
    }

    fn report(&mut self, commit: &Committed) -> bool {
        let list = changes_of(&commit.diff, &self.paths);
        self.send(commit.version, list, Some(commit))
    }

    /// Reports what changed since the last known version in one message.
    fn catch_up(&mut self, to: u64) -> bool {
        if to <= self.known {
            return true;
        }
        let mut list = ChangeList::default();
        let texts = &self.paths;
        // The paths in the schema of the changes: there are few schemas and many changes.
        let mut known: Option<(Arc<Schema>, Vec<InstancePath>)> = None;
        let compared = self
            .tree
            .each_difference(self.known, to, &mut |schema, change| {
                let (_, paths) = match known.take() {
                    Some(of) if Arc::ptr_eq(&of.0, schema) => known.insert(of),
                    _ => known.insert((Arc::clone(schema), paths_in(schema, texts))),
                };
                if concerns(change, texts, paths) {
                    list.add(schema, change);
                }
                Ok(())
            });
        if let Err(error) = compared {
            let program = self.connection.name();
            tracing::error!(%error, program, "commits could not be read for a program");
            self.connection.close();
            return false;
        }
        match list.is_empty() {
            true => {
                self.known = to;
                true
            }
            false => self.send(to, list, None),
        }
    }

    fn send(&mut self, version: u64, list: ChangeList, commit: Option<&Committed>) -> bool {
        let mut message = Map::new();
        let mut put = |name: &str, value: Json| message.insert(name.to_owned(), value);
        put("kind", "done".into());
        put("role", self.role.into());
        put("datastore", self.tree.datastore().name().into());
        put("since", self.known.into());
        put("version", version.into());
        if let Some(commit) = commit {
            put("author", commit.author.clone().into());
            put("comment", commit.comment.clone().into());
        }
        list.put(&mut message);
        self.known = version;
        self.connection.send_waiting(&Json::Object(message))
    }
}
