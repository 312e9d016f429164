//! The operations that programs answer.

use std::sync::Arc;

use espalier_store::Result;
use espalier_yang::data::{DataNode, DataTree, PrintOptions, json};
use espalier_yang::{DataError, ErrorTag, ErrorType, Errors};
use serde_json::{Map, Value as Json, json as json_value};

use super::connection::{SharedConnection, data_of};
use super::description::OperationRole;
use super::messages::path_text;
use super::state::seconds;
use crate::anchor::Anchor;
use crate::operations::{
    OPERATION_TIMEOUT, Operation, OperationCall, OperationOptions, OperationRegistration,
    Operations,
};

/// An operation that a program answers.
struct ProgramOperation {
    connection: SharedConnection,
    role: usize,
}

/// Registers a role, until the result is dropped.
///
/// # Errors
/// The path is not in the models, or names no operation.
pub(super) fn register(
    connection: &SharedConnection,
    operations: &Arc<Operations>,
    anchor: &Anchor,
    (number, role): (usize, &OperationRole),
) -> Result<OperationRegistration> {
    let options = OperationOptions {
        name: connection.name().to_owned(),
        priority: role.priority,
        timeout: seconds(role.timeout, OPERATION_TIMEOUT)?,
    };
    let operation = Arc::new(ProgramOperation {
        connection: Arc::clone(connection),
        role: number,
    });
    operations.register(anchor, &role.path, options, operation)
}

/// A call as a message to the program.
fn message(role: usize, call: &OperationCall) -> Map<String, Json> {
    let mut message = Map::new();
    let mut put = |name: &str, value: Json| message.insert(name.to_owned(), value);
    put("role", role.into());
    put("path", path_text(&call.schema, &call.path));
    put("input", input(call));
    let session = &call.session;
    put("user", session.caller().user.clone().into());
    put("session", json_value!(session.id().0));
    message
}

/// The content of the input.
fn input(call: &OperationCall) -> Json {
    let nodes = call.input.nodes.iter().flat_map(DataNode::children);
    let tree = DataTree {
        nodes: nodes.cloned().collect(),
    };
    let mut printer = json::Printer::new(&call.schema, Vec::new(), PrintOptions::default());
    // The printer returns the reason why it stopped.
    let _ = tree.emit(&mut printer);
    let text = printer.finish().unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_else(|_| Json::Object(Map::new()))
}

impl ProgramOperation {
    /// The fault is the program's, and not that of the client.
    fn invalid_output(&self, errors: &Errors) -> Errors {
        let program = self.connection.name();
        tracing::error!(%errors, program, "the output of an operation is invalid");
        let message = format!("{program} returned an invalid output: {errors}");
        let error = DataError::new(ErrorTag::OperationFailed, message);
        error.of_type(ErrorType::Rpc).into()
    }
}

impl Operation for ProgramOperation {
    fn call(&self, call: &OperationCall) -> std::result::Result<DataTree, Errors> {
        let now = std::time::Instant::now();
        let timeout = call.state().deadline().saturating_duration_since(now);
        let is_wanted = || !call.is_given_up();
        let message = message(self.role, call);
        let answer = self
            .connection
            .call("operation", message, timeout, &is_wanted);
        let answer = answer.map_err(|failure| failure.into_errors(self.connection.name()))?;
        match data_of(answer) {
            None => Ok(DataTree::default()),
            Some(output) => {
                let module = call.schema.node(call.operation()).module;
                let name = format!("{}:output", call.schema.module(module).name);
                // The member itself may be there or not.
                let document = match output.get(&name) {
                    Some(_) => output,
                    None => json_value!({ name: output }),
                };
                call.output(document.to_string().as_bytes())
                    .map_err(|errors| self.invalid_output(&errors))
            }
        }
    }

    fn abort(&self, call: &OperationCall) {
        let mut message = message(self.role, call);
        message.insert("kind".to_owned(), "operation-abort".into());
        self.connection.send(&Json::Object(message));
    }
}
