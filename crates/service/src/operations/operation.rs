//! What programs implement.

use std::time::Duration;

use espalier_yang::Errors;
use espalier_yang::data::DataTree;

use super::OperationCall;

/// The default timeout of an operation.
pub const OPERATION_TIMEOUT: Duration = Duration::from_secs(60);

/// Runs an RPC or an action.
pub trait Operation: Send + Sync {
    /// Runs the operation. Returns its output: a tree whose only node is the `output`, or an empty tree
    /// ([`OperationCall::output`] parses one). Should return early if the call [ended](OperationCall::has_ended).
    ///
    /// # Errors
    /// Those of the operation; the client gets them.
    fn call(&self, call: &OperationCall) -> Result<DataTree, Errors>;

    /// Undoes a call that succeeded, because a later operation for the same request failed.
    fn abort(&self, call: &OperationCall) {
        let _ = call;
    }
}

impl<F> Operation for F
where
    F: Fn(&OperationCall) -> Result<DataTree, Errors> + Send + Sync,
{
    fn call(&self, call: &OperationCall) -> Result<DataTree, Errors> {
        self(call)
    }
}

/// How an operation is registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationOptions {
    /// The name of the program, for logs and messages.
    pub name: String,
    /// Higher priorities are called first; equal ones in the order of registration.
    pub priority: i32,
    /// The time within which a call must return.
    pub timeout: Duration,
}

impl OperationOptions {
    /// Priority 0 and a timeout of [`OPERATION_TIMEOUT`].
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            priority: 0,
            timeout: OPERATION_TIMEOUT,
        }
    }
}
