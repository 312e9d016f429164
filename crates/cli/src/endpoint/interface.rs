//! The interface of an endpoint, with its requests and results.

use std::io;
use std::sync::Arc;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use espalier_service::{ChangeNote, SessionDatastore};
use espalier_store::{
    Commit, CommitInfo, Content, Edit, ErrorOption, LoadMode, PageParameters, Retention,
    TestOption, WithDefaults, WithOrigin,
};
use espalier_yang::data::{DataTree, Operation};
use espalier_yang::schema::SchemaSource;
use espalier_yang::{InstancePath, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::endpoint::{Differences, Invocation, OperationRequest, Outcome, Rollback};
use espalier_terminal::document::{Format, Found};
use espalier_terminal::output;
use espalier_terminal::{Failure, Result};

/// Data under one schema, in a store or on a server.
pub trait Endpoint {
    /// The source texts of the modules.
    fn source(&self) -> Result<SchemaSource>;

    /// The schema.
    fn schema(&self) -> Result<Arc<Schema>>;

    /// The schema of a version, or of the newest version.
    fn schema_at(&self, version: Option<u64>) -> Result<Arc<Schema>> {
        let _ = version;
        self.schema()
    }

    /// The schema of a path as users write it, at a version: for state of the server, that of the state.
    fn schema_of_path(&self, path: &str, version: Option<u64>) -> Result<Arc<Schema>>;

    /// Loads a document into the data, atomically.
    fn load(&self, upload: Upload<'_>) -> Result<Loaded>;

    /// Reads the data at a path and writes it to `out`.
    fn read(&self, read: &Read<'_>, out: &mut dyn io::Write) -> Result<Found>;

    /// Changes the data, atomically.
    fn change(&self, change: Change) -> Result<Changed>;

    /// The newest commits up to version `from`, newest first.
    fn history(&self, from: Option<u64>, limit: usize) -> Result<Vec<CommitInfo>>;

    /// Passes each line of a comparison of two versions to `line`, without its newline.
    fn diff(
        &self,
        differences: &Differences<'_>,
        line: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()>;

    /// Restores a version.
    fn rollback(&self, rollback: &Rollback) -> Result<Changed>;

    /// The retention of versions.
    fn retention(&self) -> Result<Retention>;

    /// Performs an operation on a whole datastore.
    fn perform(&self, request: &OperationRequest) -> Result<Outcome>;

    /// Invokes an RPC or an action, and writes its output to `out`.
    fn invoke(&self, invocation: &Invocation, out: &mut Vec<u8>) -> Result<Found>;

    /// Is called if a change is rejected before it reaches the endpoint: restores the modules that were replaced when
    /// the endpoint was opened. Returns the failure, with a hint if they could not be restored.
    fn revert_modules(&self, failure: Failure) -> Failure {
        failure
    }

    /// Sets the retention of versions.
    fn set_retention(&self, retention: Retention) -> Result<()>;
}

/// A document to load.
pub struct Upload<'a> {
    /// The input.
    pub input: &'a mut (dyn io::Read + Send),
    /// The format.
    pub format: Format,
    /// What happens to the existing data.
    pub mode: LoadMode,
}

/// The result of a load.
#[derive(Clone, Copy, Debug)]
pub struct Loaded {
    /// The number of containers and list entries; `None` from a server.
    pub fragments: Option<u64>,
    /// The number of leaves and leaf-list entries; `None` from a server.
    pub values: Option<u64>,
    /// The result of the commit.
    pub changed: Changed,
}

/// The result of a change.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Changed {
    /// The version of the data after the change; `None` over RESTCONF.
    pub version: Option<u64>,
    /// Whether anything was changed; `None` over RESTCONF.
    pub is_changed: Option<bool>,
}

impl Changed {
    /// Prints the result: as JSON with `--json`, else `text` if it is not empty.
    pub fn print(self, json: bool, text: &str) -> Result<()> {
        let value = json!({"version": self.version, "changed": self.is_changed});
        output::print_result(json, &value, text)
    }
}

/// A read, with the format of its output.
pub struct Read<'a> {
    /// The schema of the path.
    pub schema: &'a Schema,
    /// The path to read.
    pub path: &'a InstancePath,
    /// The number of levels (RFC 8040 §4.8.2).
    pub depth: Option<u32>,
    /// Configuration, state, or both.
    pub content: Content,
    /// The `fields` expression (RFC 8040 §4.8.3).
    pub fields: Option<&'a str>,
    /// How default values are reported (RFC 6243).
    pub with_defaults: WithDefaults,
    /// Whether origins are reported (RFC 8527 §3.2.2).
    pub with_origin: WithOrigin,
    /// The page of a list or leaf-list to read.
    pub pages: &'a PageParameters,
    /// The format.
    pub format: Format,
    /// The version; the newest if `None`.
    pub at: Option<u64>,
}

/// A change to the data.
pub enum Change {
    /// Merges a tree of top-level nodes.
    Merge(DataTree),
    /// Deletes the data at a path; fails if there is none.
    Delete(InstancePath),
    /// A document whose nodes carry edit operations; without one, a node is merged.
    Document {
        /// The document.
        text: Vec<u8>,
        /// The format.
        format: Format,
        /// The parameters of the edit.
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
    /// The parameters as the query of a request.
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

    /// Converts a document to an edit.
    pub fn edit(self, document: DataTree) -> Edit {
        let operation = match self.default_operation {
            DefaultOperation::Merge => Operation::Merge,
            DefaultOperation::Replace => Operation::Replace,
            DefaultOperation::None => Operation::None,
        };
        Edit::apply(InstancePath::root(), document, operation)
    }

    /// Applies a document as an edit, or only tests it. Returns the commit, if there is one.
    ///
    /// # Errors
    /// As [`SessionDatastore::edit_config`].
    pub fn apply(
        self,
        of: &SessionDatastore,
        document: DataTree,
        note: ChangeNote<'_>,
    ) -> espalier_store::Result<Option<Commit>> {
        let test = match self.test_option {
            TestChoice::Set => TestOption::Set,
            TestChoice::TestThenSet => TestOption::TestThenSet,
            TestChoice::TestOnly => TestOption::TestOnly,
        };
        let edits = [self.edit(document)];
        let report = of.edit_config(&edits, test, ErrorOption::RollbackOnError, note)?;
        Ok(report.commit)
    }
}
