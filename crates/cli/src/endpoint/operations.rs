//! Operations on whole datastores: commit, validate, lock, copy and others. A command on a store and a server perform
//! them by the same code.

use espalier_service::{ChangeNote, SessionDatastore};
use espalier_store::{Commit, ConfirmOptions, Conflict, Datastore, Edit, Locks, Resolution};
use espalier_yang::InstancePath;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use espalier_terminal::Result;
use espalier_terminal::output::escaped;
use espalier_terminal::path::placed;

/// A request to perform an operation on a datastore.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct OperationRequest {
    /// The name of the datastore.
    pub datastore: String,
    /// The session; may be empty.
    pub session: String,
    /// The author of commits.
    pub author: String,
    /// The comment of commits.
    pub comment: String,
    /// The operation.
    #[serde(rename = "act")]
    pub operation: DatastoreOperation,
}

/// An operation on a datastore.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum DatastoreOperation {
    /// Reports the locks of the datastore and its pending confirmed commit.
    #[default]
    Locks,
    /// Commits a candidate to running.
    Commit {
        /// The timeout in seconds of a confirmed commit.
        confirmed: Option<u32>,
        /// The id with which the confirmed commit outlives its session.
        persist: Option<String>,
        /// The id of the pending confirmed commit.
        persist_id: Option<String>,
    },
    /// Cancels the pending confirmed commit.
    Cancel {
        /// Its id.
        persist_id: Option<String>,
    },
    /// Validates all constraints.
    Validate,
    /// Discards the changes of a candidate.
    Discard,
    /// Rebases a candidate on the current running datastore.
    Update {
        /// The side that wins if both changed a node; without it, a conflict is an error.
        prefer: Option<ConflictPreference>,
    },
    /// Locks the datastore, or these nodes of it.
    Lock {
        /// Instance identifiers; empty for the whole datastore.
        paths: Vec<String>,
    },
    /// Releases a lock.
    Unlock {
        /// The number of a partial lock; `None` for the lock of the whole datastore.
        id: Option<u32>,
        /// The owner of the lock.
        of: LockOwner,
    },
    /// Copies another datastore to this one.
    Copy {
        /// The name of the source.
        from: String,
    },
    /// Deletes the datastore.
    Delete,
    /// Deletes a node, or every entry of a list.
    DeleteNode {
        /// The node, as an instance identifier.
        path: String,
    },
    /// Ends the session.
    EndSession,
}

/// Which side to take in a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ConflictPreference {
    /// That of running.
    Running,
    /// That of the candidate.
    Candidate,
}

/// The owner of a lock to release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockOwner {
    /// The session of the request.
    #[default]
    Session,
    /// Any session.
    Anybody,
}

/// The result of an operation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// The result as JSON.
    pub value: Value,
    /// The result as text.
    pub text: String,
}

/// Performs the operation on a datastore of the same anchor as `running`, for its session.
pub fn perform(running: &SessionDatastore, request: &OperationRequest) -> Result<Outcome> {
    let of = named_datastore(running, &request.datastore)?;
    let note = ChangeNote {
        author: &request.author,
        comment: &request.comment,
    };
    match &request.operation {
        DatastoreOperation::Locks => locks(&of),
        DatastoreOperation::Commit {
            confirmed,
            persist,
            persist_id,
        } => {
            let confirmed = ConfirmOptions {
                timeout: *confirmed,
                persist: persist.as_deref(),
                persist_id: persist_id.as_deref(),
            };
            commit(&of, confirmed, note)
        }
        DatastoreOperation::Cancel { persist_id } => {
            let commit = of.cancel_commit(persist_id.as_deref(), note)?;
            Ok(committed(commit, "taken back"))
        }
        DatastoreOperation::Validate => {
            of.validate()?;
            Ok(done(json!({"valid": true}), "valid"))
        }
        DatastoreOperation::Discard => {
            of.discard_changes(note)?;
            Ok(done(json!({"discarded": true}), "discarded"))
        }
        DatastoreOperation::Update { prefer } => update(&of, *prefer, note),
        DatastoreOperation::Lock { paths } => lock(&of, paths),
        DatastoreOperation::Unlock { id, of: owner } => unlock(&of, *id, *owner),
        DatastoreOperation::Copy { from } => {
            let source = named_datastore(&of, from)?;
            let commit = of.copy_from(&source, note)?;
            let what = format!("copied; {}", of.datastore().name());
            Ok(committed(commit, &what))
        }
        DatastoreOperation::Delete => {
            let commit = of.delete(note)?;
            Ok(committed(commit, "deleted"))
        }
        DatastoreOperation::DeleteNode { path } => {
            let path = InstancePath::parse_cli_path(of.schema(), path)?;
            let commit = of.commit(&[Edit::delete(path)], note, None)?;
            Ok(committed(commit, "deleted"))
        }
        DatastoreOperation::EndSession => {
            of.end()?;
            Ok(done(json!({"ended": request.session}), "ended"))
        }
    }
}

/// Another datastore of the same anchor, by name.
pub fn named_datastore(of: &SessionDatastore, name: &str) -> Result<SessionDatastore> {
    Ok(of.sibling(Datastore::parse(name)?)?)
}

fn done(value: Value, text: &str) -> Outcome {
    Outcome {
        value,
        text: text.to_owned(),
    }
}

fn committed(commit: Commit, what: &str) -> Outcome {
    let value = json!({"version": commit.version, "changed": commit.is_changed});
    match commit.is_changed {
        true => done(value, &format!("{what}: version {}", commit.version)),
        false => done(value, "nothing differs"),
    }
}

fn commit(
    of: &SessionDatastore,
    confirmed: ConfirmOptions<'_>,
    note: ChangeNote<'_>,
) -> Result<Outcome> {
    let running = of.sibling(Datastore::Running)?;
    let confirms = confirmed.timeout.is_none() && running.locks()?.pending.is_some();
    let commit = of.commit_candidate(confirmed, note)?;
    let mut outcome = committed(commit, "committed");
    if let Some(seconds) = confirmed.timeout {
        outcome.value["confirm-within"] = json!(seconds);
        outcome.text = format!("{}; confirm it within {seconds} s", outcome.text);
    } else if confirms {
        outcome.value["confirmed"] = json!(true);
        outcome.text = match commit.is_changed {
            true => format!("{}; that before is confirmed", outcome.text),
            false => "confirmed".to_owned(),
        };
    }
    Ok(outcome)
}

fn update(
    of: &SessionDatastore,
    prefer: Option<ConflictPreference>,
    note: ChangeNote<'_>,
) -> Result<Outcome> {
    let resolution = match prefer {
        None => Resolution::RevertOnConflict,
        Some(ConflictPreference::Running) => Resolution::PreferRunning,
        Some(ConflictPreference::Candidate) => Resolution::PreferCandidate,
    };
    let conflicts = of.update(resolution, note)?;
    let items: Vec<Value> = conflicts.iter().map(conflict).collect();
    let mut text = match conflicts.len() {
        0 => "updated, without conflicts".to_owned(),
        1 => "updated, 1 conflict resolved".to_owned(),
        count => format!("updated, {count} conflicts resolved"),
    };
    for conflict in &conflicts {
        let line = format!(
            "{}: was {}, running has {}, the candidate had {}",
            conflict.path, conflict.base, conflict.running, conflict.candidate
        );
        text.push_str("\n  ");
        text.push_str(&escaped(&line));
    }
    Ok(done(json!({"conflicts": items}), &text))
}

fn conflict(conflict: &Conflict) -> Value {
    json!({
        "path": conflict.path,
        "base": conflict.base.to_string(),
        "running": conflict.running.to_string(),
        "candidate": conflict.candidate.to_string(),
    })
}

fn lock(of: &SessionDatastore, paths: &[String]) -> Result<Outcome> {
    if paths.is_empty() {
        of.lock()?;
        return Ok(done(json!({"locked": true}), "locked"));
    }
    let parse = |text: &String| {
        InstancePath::parse_cli_path(of.schema(), text).map_err(|error| placed(error, text))
    };
    let paths = paths
        .iter()
        .map(parse)
        .collect::<std::result::Result<Vec<_>, _>>()?;
    let partial = of.partial_lock(&paths)?;
    let text = format!("locked: partial lock {}", partial.id);
    Ok(done(json!({"locked": true, "id": partial.id}), &text))
}

fn unlock(of: &SessionDatastore, id: Option<u32>, owner: LockOwner) -> Result<Outcome> {
    match (id, owner) {
        (None, LockOwner::Session) => of.unlock()?,
        (None, LockOwner::Anybody) => of.break_lock()?,
        (Some(id), LockOwner::Session) => of.partial_unlock(id)?,
        (Some(id), LockOwner::Anybody) => of.break_partial_lock(id)?,
    }
    Ok(done(json!({"unlocked": true}), "unlocked"))
}

fn locks(of: &SessionDatastore) -> Result<Outcome> {
    let Locks {
        lock,
        partial,
        pending,
    } = of.locks()?;
    let name = of.datastore().name();
    let mut lines = Vec::new();
    if let Some(lock) = &lock {
        lines.push(format!("{name}: locked by session “{}”", lock.session));
    }
    for partial in &partial {
        lines.push(format!(
            "{name}: partial lock {} of session “{}”: {}",
            partial.id,
            partial.session,
            partial.paths.join(", ")
        ));
    }
    if let Some(pending) = &pending {
        let left = of.remaining(pending).as_secs();
        lines.push(format!(
            "{name}: a commit of session “{}” is to be confirmed within {left} s, else version {} is restored",
            pending.session, pending.restores
        ));
    }
    if lines.is_empty() {
        lines.push(format!("{name}: nothing holds it"));
    }
    let partial: Vec<Value> = partial
        .iter()
        .map(|partial| {
            json!({
                "id": partial.id,
                "session": partial.session,
                "time": partial.time.0,
                "paths": partial.paths,
            })
        })
        .collect();
    let value = json!({
        "datastore": name,
        "lock": lock.map(|lock| json!({"session": lock.session, "time": lock.time.0})),
        "partial": partial,
        "pending": pending.map(|pending| json!({
            "session": pending.session,
            "deadline": pending.deadline.0,
            "restores": pending.restores,
            "persists": pending.persist.is_some(),
        })),
    });
    Ok(Outcome {
        value,
        text: lines
            .iter()
            .map(|line| escaped(line))
            .collect::<Vec<_>>()
            .join("\n"),
    })
}
