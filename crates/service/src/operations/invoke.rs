//! Invokes operations.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use espalier_store::{AccessOperation, Datastore, Error, Result};
use espalier_yang::data::DataTree;
use espalier_yang::{DataError, ErrorTag, ErrorType, Errors, InstancePath, NodeId, NodeKind};

use super::call::{CallState, OperationCall, input_of, output_of};
use super::registry::{CountedCall, Registered};
use super::{OPERATION_CALLS_MAX, OPERATION_TIMEOUT, ServerOperation};
use crate::audit::AuditOperation;
use crate::datastore::{Call, SessionDatastore};
use crate::notifications::Encoding;

/// How often a waiting call looks whether its session was killed.
const KILL_CHECK: Duration = Duration::from_millis(200);

/// The `error-app-tag` of a call that took too long.
const TIMED_OUT: &str = "timeout";

/// What a call invokes.
enum Invocation {
    /// An operation of the server.
    Server(ServerOperation, OperationCall),
    /// The registered programs, with their input.
    Registered(Vec<Arc<Registered>>, DataTree),
}

impl SessionDatastore {
    /// Invokes an RPC or an action. `input` has the `input` as its only node, or is empty. Returns the output in the same
    /// form.
    ///
    /// # Errors
    /// `access-denied`; `data-missing` if the node of an action does not exist; every violation of the input;
    /// `operation-not-supported` if nobody answers; the errors of the operation; `operation-failed` if it takes too
    /// long or its output is invalid; `resource-denied` beyond [`OPERATION_CALLS_MAX`] calls.
    pub fn invoke(&self, path: &InstancePath, input: &DataTree) -> Result<DataTree> {
        self.invoke_encoded(path, input, Encoding::Json)
    }

    /// As [`Self::invoke`], with the encoding of the `anydata` in the output.
    ///
    /// # Errors
    /// As there.
    pub fn invoke_encoded(
        &self,
        path: &InstancePath,
        input: &DataTree,
        encoding: Encoding,
    ) -> Result<DataTree> {
        let paths = std::slice::from_ref(path);
        let call = Call::on(AuditOperation::Invoke, paths);
        self.counted_steps(
            call,
            |_| self.invocation(path, input, encoding),
            |access, invocation| match invocation {
                Invocation::Server(own, call) => {
                    // The paths of its errors are those of the data that it is run on.
                    let main = self.main();
                    let access = main.access()?;
                    own.run(&main, &call)
                        .map_err(|error| main.shown(&access, error))
                }
                Invocation::Registered(registered, input) => self
                    .run_all(path, &input, &registered)
                    .map_err(|error| self.shown(access, error)),
            },
        )
    }

    /// What a call invokes, if the user may, with the complete input.
    fn invocation(
        &self,
        path: &InstancePath,
        input: &DataTree,
        encoding: Encoding,
    ) -> Result<Invocation> {
        let operation = self.require_invocable(path)?;
        if let Some(own) = ServerOperation::of(self.schema(), operation) {
            let input = self.completed_input(path, operation, input)?;
            let call = self.operation_call(path, input, OPERATION_TIMEOUT);
            return Ok(Invocation::Server(own, OperationCall { encoding, ..call }));
        }
        let operations = self.service().operations();
        let anchor = self.governed().anchor_id();
        let registered = operations.of(anchor, self.schema(), path);
        if registered.is_empty() {
            return Err(self.not_supported(operation));
        }
        let input = self.completed_input(path, operation, input)?;
        Ok(Invocation::Registered(registered, input))
    }

    /// Whether an operation is answered.
    pub fn is_supported(&self, operation: NodeId) -> bool {
        ServerOperation::of(self.schema(), operation).is_some()
            || self.service().operations().has(
                self.governed().anchor_id(),
                self.schema(),
                operation,
            )
    }

    /// Whether the user may invoke an RPC.
    ///
    /// # Errors
    /// Those of reading the rules.
    pub fn may_invoke(&self, operation: NodeId) -> Result<bool> {
        let schema = self.schema();
        let node = schema.node(operation);
        let module = &schema.module(node.module).name;
        let access = self.access()?;
        Ok(access.may_invoke(schema, module, &node.name, Some(operation)))
    }

    /// The operation at a path, if the user may invoke it (RFC 8341 §3.4.4, §3.4.5).
    fn require_invocable(&self, path: &InstancePath) -> Result<NodeId> {
        let schema = self.schema();
        let target = path.target();
        let kind = target.map(|target| &schema.node(target).kind);
        let (Some(target), Some(NodeKind::Rpc | NodeKind::Action)) = (target, kind) else {
            let message = "the path names no operation";
            return Err(Error::data(ErrorTag::InvalidValue, message));
        };
        let node = schema.node(target);
        if matches!(node.kind, NodeKind::Rpc) {
            let module = &schema.module(node.module).name;
            self.require(module, &node.name)?;
            return Ok(target);
        }
        self.require_write_scope()?;
        let access = self.access()?;
        let parent = path.parent().unwrap_or_default();
        let may_execute = access.table().is_none_or(|table| {
            table.allows(AccessOperation::Read, &parent)
                && table.allows(AccessOperation::Exec, path)
        });
        match may_execute {
            true => Ok(target),
            false => Err(self.denied_operation(&node.name)),
        }
    }

    /// The input, validated, with defaults.
    fn completed_input(
        &self,
        path: &InstancePath,
        operation: NodeId,
        input: &DataTree,
    ) -> Result<DataTree> {
        let Some(node) = input_of(self.schema(), operation) else {
            return Ok(DataTree::default());
        };
        self.completed(path, node, input)
    }

    /// The input or output of an operation, validated against the operational state, with defaults.
    fn completed(&self, path: &InstancePath, node: NodeId, tree: &DataTree) -> Result<DataTree> {
        let context = path.parent().unwrap_or_default();
        let operational = self.tree().sibling_datastore(Datastore::Operational, "")?;
        operational.view()?.validate_operation(&context, node, tree)
    }

    fn operation_call(
        &self,
        path: &InstancePath,
        input: DataTree,
        timeout: Duration,
    ) -> OperationCall {
        OperationCall {
            schema: Arc::clone(self.schema()),
            path: path.clone(),
            input,
            session: Arc::clone(self.session()),
            encoding: Encoding::Json,
            state: CallState::until(Instant::now() + timeout),
        }
    }

    /// Calls the registered operations one after the other; if one fails, aborts those before it.
    fn run_all(
        &self,
        path: &InstancePath,
        input: &DataTree,
        registered: &[Arc<Registered>],
    ) -> Result<DataTree> {
        let mut done: Vec<(&Arc<Registered>, OperationCall)> = Vec::new();
        let mut output = DataTree::default();
        for one in registered {
            let call = self.operation_call(path, input.clone(), one.options.timeout);
            let result = run(one, &call)
                .map_err(Error::Data)
                .and_then(|output| self.checked_output(path, &call, one, output));
            match result {
                Ok(result) => output = result,
                Err(error) => {
                    done.iter().rev().for_each(|(one, call)| abort(one, call));
                    return Err(error);
                }
            }
            done.push((one, call));
        }
        Ok(output)
    }

    /// The output, if it is valid.
    fn checked_output(
        &self,
        path: &InstancePath,
        call: &OperationCall,
        one: &Registered,
        output: DataTree,
    ) -> Result<DataTree> {
        let name = &one.options.name;
        let Some(node) = output_of(self.schema(), call.operation()) else {
            return match output.nodes.iter().all(|node| node.children().is_empty()) {
                true => Ok(DataTree::default()),
                false => Err(failed(format!("{name} returned output, but there is none")).into()),
            };
        };
        match self.completed(path, node, &output) {
            Ok(_) => Ok(output),
            Err(Error::Data(errors)) => {
                tracing::error!(%errors, program = name, "the output of an operation is invalid");
                let message = format!("{name} returned an invalid output: {errors}");
                Err(failed(message).into())
            }
            Err(error) => Err(error),
        }
    }

    fn not_supported(&self, operation: NodeId) -> Error {
        let name = self.schema().qualified_name(operation);
        let message = format!("the operation {name} is not supported: no program answers it");
        let error = DataError::new(ErrorTag::OperationNotSupported, message);
        error.of_type(ErrorType::Protocol).into()
    }
}

/// Runs one call on a thread of its own, and waits until it returns, its time is over, or its session is killed.
fn run(one: &Arc<Registered>, call: &OperationCall) -> std::result::Result<DataTree, Errors> {
    let name = &one.options.name;
    let Some(counted) = one.begin_call() else {
        let message = format!(
            "{OPERATION_CALLS_MAX} calls of {name} are in progress (OPERATION_CALLS_MAX); try again later"
        );
        return Err(DataError::new(ErrorTag::ResourceDenied, message).into());
    };
    let (sender, receiver) = sync_channel(1);
    let (operation, made) = (Arc::clone(&one.operation), call.clone());
    let task = move || {
        let _counted: CountedCall = counted;
        let result = catch_unwind(AssertUnwindSafe(|| operation.call(&made)));
        let _ = sender.send(result);
    };
    let thread = thread::Builder::new().name("operation".to_owned());
    if let Err(error) = thread.spawn(task) {
        let message = format!("no thread for the operation: {error}");
        return Err(DataError::new(ErrorTag::ResourceDenied, message).into());
    }
    loop {
        let left = call
            .state
            .deadline()
            .saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left.min(KILL_CHECK)) {
            Ok(Ok(result)) => return result,
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
                tracing::error!(program = name, "an operation panicked");
                return Err(failed(format!("{name} panicked")).into());
            }
            Err(RecvTimeoutError::Timeout) if call.session.is_killed() => {
                call.state.end();
                return Err(failed("the session was killed").into());
            }
            Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                call.state.end();
                let timeout = one.options.timeout;
                tracing::warn!(program = name, ?timeout, "an operation timed out");
                let error = failed(format!("{name} did not answer within {timeout:?}"));
                return Err(error.with_app_tag(TIMED_OUT).into());
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn abort(one: &Registered, call: &OperationCall) {
    if catch_unwind(AssertUnwindSafe(|| one.operation.abort(call))).is_err() {
        let program = &one.options.name;
        tracing::error!(program, "an operation panicked while it was undone");
    }
}

fn failed(message: impl Into<String>) -> DataError {
    DataError::new(ErrorTag::OperationFailed, message).of_type(ErrorType::Rpc)
}
