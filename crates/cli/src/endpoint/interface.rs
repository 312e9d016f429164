//! What a target does.

use std::io;
use std::sync::Arc;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use espalier_store::{
    Commit, CommitInfo, CommitOptions, Content, Edit, ErrorOption, LoadMode, Retention, TestOption,
    Tree, WithDefaults, WithOrigin,
};
use espalier_yang::data::{DataTree, Operation};
use espalier_yang::schema::SchemaSource;
use espalier_yang::{InstancePath, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::endpoint::{Differences, OperationRequest, Outcome, Rollback};
use espalier_terminal::document::{Format, Found};
use espalier_terminal::output;
use espalier_terminal::{Failure, Result};

/// Data under one schema, wherever it is.
pub trait Endpoint {
    /// The modules' texts.
    fn source(&self) -> Result<SchemaSource>;

    /// The schema.
    fn schema(&self) -> Result<Arc<Schema>>;

    /// The schema of a version, or of the newest.
    fn schema_at(&self, version: Option<u64>) -> Result<Arc<Schema>> {
        let _ = version;
        self.schema()
    }

    /// Puts a document into the data, all or nothing.
    fn load(&self, upload: Upload<'_>) -> Result<Loaded>;

    /// Writes what is at a path.
    fn read(&self, read: &Read<'_>, out: &mut dyn io::Write) -> Result<Found>;

    /// Changes the data, all or nothing.
    fn change(&self, change: Change) -> Result<Changed>;

    /// The newest commits up to version `from`, newest first.
    fn history(&self, from: Option<u64>, limit: usize) -> Result<Vec<CommitInfo>>;

    /// Tells each line of a comparison of two versions, without its end.
    fn diff(
        &self,
        differences: &Differences<'_>,
        line: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()>;

    /// Brings back a version.
    fn rollback(&self, rollback: &Rollback) -> Result<Changed>;

    /// How many versions are kept.
    fn retention(&self) -> Result<Retention>;

    /// Does something with a whole datastore.
    fn perform(&self, request: &OperationRequest) -> Result<Outcome>;

    /// What was to be changed was refused before it was asked for: takes back what was done for it when
    /// the target was opened.
    fn revert_modules(&self, failure: Failure) -> Failure {
        failure
    }

    /// Sets how many versions are kept.
    fn set_retention(&self, retention: Retention) -> Result<()>;
}

/// A document to load.
pub struct Upload<'a> {
    /// Where it is read from.
    pub input: &'a mut (dyn io::Read + Send),
    /// How it is written.
    pub format: Format,
    /// What becomes of the data that is there.
    pub mode: LoadMode,
}

/// What a load did.
#[derive(Clone, Copy, Debug)]
pub struct Loaded {
    /// Containers and list entries; not known from a server.
    pub fragments: Option<u64>,
    /// Leaves and leaf-list entries; not known from a server.
    pub values: Option<u64>,
    /// What the commit did.
    pub changed: Changed,
}

/// What a change did.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Changed {
    /// The version of the data after it; not known from a server.
    pub version: Option<u64>,
    /// Whether anything differs; not known from a server.
    pub is_changed: Option<bool>,
}

impl Changed {
    /// Prints it: with `--json` as JSON, else `text` where there is any.
    pub fn print(self, json: bool, text: &str) -> Result<()> {
        let value = json!({"version": self.version, "changed": self.is_changed});
        output::print_result(json, &value, text)
    }
}

/// What to read, and how to write it.
pub struct Read<'a> {
    /// What.
    pub path: &'a InstancePath,
    /// How many levels (RFC 8040 §4.8.2).
    pub depth: Option<u32>,
    /// Configuration, state, or both.
    pub content: Content,
    /// The `fields` expression (RFC 8040 §4.8.3).
    pub fields: Option<&'a str>,
    /// What becomes of default values (RFC 6243).
    pub with_defaults: WithDefaults,
    /// Whether origins are told (RFC 8527 §3.2.2).
    pub with_origin: WithOrigin,
    /// How it is written.
    pub format: Format,
    /// The version; the newest, where there is none.
    pub at: Option<u64>,
}

/// A change to the data.
pub enum Change {
    /// Merges a tree of top-level nodes.
    Merge(DataTree),
    /// Deletes what is at a path; an error where there is nothing.
    Delete(InstancePath),
    /// A document whose nodes carry edit operations; without one, a node is merged.
    Document {
        /// The document.
        text: Vec<u8>,
        /// How it is written.
        format: Format,
        /// How it is applied.
        parameters: EditParameters,
    },
}

/// The parameters of `<edit-config>` (RFC 6241 §7.2), as the command line and `/espalier/edit` have them.
#[derive(Args, Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct EditParameters {
    /// The operation of top-level nodes that say none
    #[arg(long, value_name = "OPERATION", default_value = "merge")]
    pub default_operation: DefaultOperation,

    /// Whether the outcome is validated, and whether anything is done
    #[arg(long, value_name = "OPTION", default_value = "set")]
    pub test_option: TestChoice,
}

/// `default-operation`.
#[derive(Clone, Copy, Debug, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DefaultOperation {
    /// Merge with what is there
    #[default]
    Merge,
    /// Replace all that is there
    Replace,
    /// Nothing, but for nodes below that say an operation
    None,
}

/// `test-option`.
#[derive(Clone, Copy, Debug, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestChoice {
    /// Make the edit; running is always validated, a candidate when it is committed
    #[default]
    Set,
    /// Validate, in a candidate too, then make the edit
    TestThenSet,
    /// Validate only
    TestOnly,
}

impl EditParameters {
    /// As the query of a request.
    pub fn query(self) -> String {
        let name = |value: Option<PossibleValue>| {
            value.map_or_else(String::new, |value| value.get_name().to_owned())
        };
        format!(
            "default-operation={}&test-option={}",
            name(self.default_operation.to_possible_value()),
            name(self.test_option.to_possible_value())
        )
    }

    /// A document as an edit.
    pub fn edit(self, document: DataTree) -> Edit {
        let operation = match self.default_operation {
            DefaultOperation::Merge => Operation::Merge,
            DefaultOperation::Replace => Operation::Replace,
            DefaultOperation::None => Operation::None,
        };
        Edit::apply(InstancePath::root(), document, operation)
    }

    /// Makes an edit, or tests it; the commit, where one was to be made.
    ///
    /// # Errors
    /// As [`Tree::edit_config`].
    pub fn apply(
        self,
        tree: &Tree,
        document: DataTree,
        options: CommitOptions<'_>,
    ) -> espalier_store::Result<Option<Commit>> {
        let test = match self.test_option {
            TestChoice::Set => TestOption::Set,
            TestChoice::TestThenSet => TestOption::TestThenSet,
            TestChoice::TestOnly => TestOption::TestOnly,
        };
        let edits = [self.edit(document)];
        let report = tree.edit_config(&edits, test, ErrorOption::RollbackOnError, options)?;
        Ok(report.commit)
    }
}
