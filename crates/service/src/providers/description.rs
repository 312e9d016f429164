//! What a program provides.

use serde::Deserialize;

/// The maximum number of roles of one program.
pub const PROVIDER_ROLES_MAX: usize = 1000;

/// The maximum number of commit roles of one program: each can have a thread.
pub const COMMIT_ROLES_MAX: usize = 16;

/// What a program provides, as it writes it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProviderDescription {
    /// The name of the program, for logs and messages. A program that connects under a name that is connected replaces
    /// the other connection.
    pub name: String,
    /// The state that it serves.
    pub state: Vec<StateRole>,
    /// The RPCs and actions that it answers.
    pub operations: Vec<OperationRole>,
    /// The commits that it takes part in.
    pub commits: Vec<CommitRole>,
    /// The modules whose data it converts when their revision changes.
    pub upgrades: Vec<UpgradeRole>,
}

/// A module whose data a program converts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct UpgradeRole {
    /// The name of the module.
    pub module: String,
    /// The time within which the program must answer, in seconds.
    #[serde(default)]
    pub timeout: Option<f64>,
}

/// Operational state that a program serves.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct StateRole {
    /// The path, as on the command line; a list without keys stands for every entry.
    pub path: String,
    /// The time within which the program must answer, in seconds.
    #[serde(default)]
    pub timeout: Option<f64>,
    /// How long an answer is used again, in seconds; by default not at all.
    #[serde(default)]
    pub cache: f64,
    /// Whether the program sends the data when it changes, and is not called.
    #[serde(default)]
    pub push: bool,
    /// The origin of configuration nodes (RFC 8342 §5.3.4), as in `system`.
    #[serde(default)]
    pub origin: Option<String>,
}

/// An RPC or action that a program answers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OperationRole {
    /// The path, as on the command line; a list without keys stands for every entry.
    pub path: String,
    /// Higher priorities are called first; the answer of the last is the output.
    #[serde(default)]
    pub priority: i32,
    /// The time within which the program must answer, in seconds.
    #[serde(default)]
    pub timeout: Option<f64>,
}

/// Commits that a program takes part in.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CommitRole {
    /// The nodes, with their descendants; none for all.
    #[serde(default)]
    pub paths: Vec<String>,
    /// The datastore; running by default.
    #[serde(default)]
    pub datastore: Option<String>,
    /// Higher priorities are called first.
    #[serde(default)]
    pub priority: i32,
    /// What the program is called for.
    pub phases: Vec<CommitPhase>,
    /// The time within which the program must answer, in seconds.
    #[serde(default)]
    pub timeout: Option<f64>,
    /// The version of the last commit that the program knows of: it gets what changed since then.
    #[serde(default)]
    pub since: Option<u64>,
}

/// A phase of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommitPhase {
    /// The program may add edits.
    Update,
    /// The program may refuse the commit. If the commit is not made after that, it gets `abort`.
    Change,
    /// The commit is made.
    Done,
}
