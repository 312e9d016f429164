//! What is done with whole datastores: committed, validated, locked, copied. Carried out the same
//! by a command on a store and by a server that was asked to.

use espalier_store::{
    Commit, CommitOptions, ConfirmOptions, Conflict, Datastore, Locks, Resolution, Tree,
};
use espalier_yang::{DataError, ErrorTag, InstancePath};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use espalier_terminal::Result;
use espalier_terminal::output::escaped;

/// What to do, with which datastore, and who does it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct OperationRequest {
    /// The name of the datastore.
    pub datastore: String,
    /// The session; may be empty.
    pub session: String,
    /// Who commits are by.
    pub author: String,
    /// Why they are made.
    pub comment: String,
    /// What to do.
    #[serde(rename = "act")]
    pub operation: DatastoreOperation,
}

/// What is done with a datastore.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum DatastoreOperation {
    /// Says what holds the datastore.
    #[default]
    Locks,
    /// Commits a candidate to running.
    Commit {
        /// Seconds to confirm in, for a commit that is to be confirmed.
        confirmed: Option<u32>,
        /// Makes the confirmed commit outlive its session.
        persist: Option<String>,
        /// Names the pending one.
        persist_id: Option<String>,
    },
    /// Takes back the pending confirmed commit.
    Cancel {
        /// Names it.
        persist_id: Option<String>,
    },
    /// Validates all constraints.
    Validate,
    /// Forgets what a candidate changes.
    Discard,
    /// Makes a candidate one of running as it is now.
    Update {
        /// Which to take where both changed a node.
        prefer: Option<ConflictPreference>,
    },
    /// Locks the datastore, or these nodes of it.
    Lock {
        /// Instance identifiers; none for all of it.
        paths: Vec<String>,
    },
    /// Releases a lock.
    Unlock {
        /// The number of a partial lock; none for that of all of it.
        id: Option<u32>,
        /// From whom.
        of: LockOwner,
    },
    /// Copies another datastore to this one.
    Copy {
        /// Its name.
        from: String,
    },
    /// Deletes the datastore.
    Delete,
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

/// Whose lock is released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockOwner {
    /// That of the session itself.
    #[default]
    Session,
    /// Whoever's it is.
    Anybody,
}

/// What was done.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// For machines.
    pub value: Value,
    /// For people.
    pub text: String,
}

/// Does it, beside a tree of the anchor.
pub fn perform(tree: &Tree, request: &OperationRequest) -> Result<Outcome> {
    let session = request.session.as_str();
    let tree = tree_of_datastore(tree, &request.datastore, session)?;
    let options = CommitOptions {
        author: &request.author,
        comment: &request.comment,
        session,
        ..CommitOptions::default()
    };
    match &request.operation {
        DatastoreOperation::Locks => locks(&tree),
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
            commit(&tree, confirmed, options)
        }
        DatastoreOperation::Cancel { persist_id } => {
            let commit = tree.cancel_commit(persist_id.as_deref(), options)?;
            Ok(committed(commit, "taken back"))
        }
        DatastoreOperation::Validate => {
            tree.validate()?;
            Ok(done(json!({"valid": true}), "valid"))
        }
        DatastoreOperation::Discard => {
            tree.discard(options)?;
            Ok(done(json!({"discarded": true}), "discarded"))
        }
        DatastoreOperation::Update { prefer } => update(&tree, *prefer, options),
        DatastoreOperation::Lock { paths } => lock(&tree, paths, session),
        DatastoreOperation::Unlock { id, of: owner } => unlock(&tree, *id, *owner, session),
        DatastoreOperation::Copy { from } => {
            let source = tree_of_datastore(&tree, from, session)?;
            let commit = tree.copy_from(&source, options)?;
            let what = format!("copied; {}", tree.datastore().name());
            Ok(committed(commit, &what))
        }
        DatastoreOperation::Delete => {
            let commit = tree.delete_datastore(options)?;
            Ok(committed(commit, "deleted"))
        }
        DatastoreOperation::EndSession => {
            tree.store().end_session(session)?;
            Ok(done(json!({"ended": session}), "ended"))
        }
    }
}

/// Another datastore of the same anchor, by name.
pub fn tree_of_datastore(tree: &Tree, name: &str, session: &str) -> Result<Tree> {
    let datastore = Datastore::named(name).ok_or_else(|| {
        let message = format!("there is no datastore “{name}”");
        DataError::new(ErrorTag::InvalidValue, message)
    })?;
    Ok(tree.beside(datastore, session)?)
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
    tree: &Tree,
    confirmed: ConfirmOptions<'_>,
    options: CommitOptions<'_>,
) -> Result<Outcome> {
    let running = tree.beside(Datastore::Running, "")?;
    let confirms = confirmed.timeout.is_none() && running.locks()?.pending.is_some();
    let commit = tree.commit_confirmed(confirmed, options)?;
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
    tree: &Tree,
    prefer: Option<ConflictPreference>,
    options: CommitOptions<'_>,
) -> Result<Outcome> {
    let resolution = match prefer {
        None => Resolution::RevertOnConflict,
        Some(ConflictPreference::Running) => Resolution::PreferRunning,
        Some(ConflictPreference::Candidate) => Resolution::PreferCandidate,
    };
    let conflicts = tree.update(resolution, options)?;
    let items: Vec<Value> = conflicts.iter().map(conflict).collect();
    let mut text = match conflicts.len() {
        0 => "updated, without conflicts".to_owned(),
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

fn lock(tree: &Tree, paths: &[String], session: &str) -> Result<Outcome> {
    if paths.is_empty() {
        tree.lock(session)?;
        return Ok(done(json!({"locked": true}), "locked"));
    }
    let parse = |text: &String| {
        InstancePath::parse_cli_path(tree.schema(), text).map_err(|error| error.at(text))
    };
    let paths = paths
        .iter()
        .map(parse)
        .collect::<std::result::Result<Vec<_>, _>>()?;
    let partial = tree.partial_lock(&paths, session)?;
    let text = format!("locked: partial lock {}", partial.id);
    Ok(done(json!({"locked": true, "id": partial.id}), &text))
}

fn unlock(tree: &Tree, id: Option<u32>, owner: LockOwner, session: &str) -> Result<Outcome> {
    match (id, owner) {
        (None, LockOwner::Session) => tree.unlock(session)?,
        (None, LockOwner::Anybody) => tree.break_lock()?,
        (Some(id), LockOwner::Session) => tree.partial_unlock(id, session)?,
        (Some(id), LockOwner::Anybody) => tree.break_partial_lock(id)?,
    }
    Ok(done(json!({"unlocked": true}), "unlocked"))
}

fn locks(tree: &Tree) -> Result<Outcome> {
    let Locks {
        lock,
        partial,
        pending,
    } = tree.locks()?;
    let name = tree.datastore().name();
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
        let left = tree.remaining(pending).as_secs();
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
