//! Operations: RPCs and actions (RFC 7950 §7.14, §7.15).
//!
//! Programs register an [`Operation`] for a path of an anchor's models ([`Operations::register`]); a session invokes it
//! ([`SessionDatastore::invoke`](crate::SessionDatastore::invoke)). The input is validated and completed with defaults, the
//! output is validated. If several are registered for one path, they are called one after the other, those of a higher
//! priority first, with the same input; the output of the last is the result. If one fails, those before it are called
//! again to undo what they did, the last first.
//!
//! A call runs on a thread of its own, with a timeout: an operation that does not return delays only its own client. It
//! is never called again for the same request.

mod call;
mod invoke;
mod operation;
mod registry;
mod server_operations;

pub use call::{CallState, OperationCall, input_of};
pub use operation::{OPERATION_TIMEOUT, Operation, OperationOptions};
pub use registry::{OPERATION_CALLS_MAX, OperationRegistration, Operations};

pub(crate) use server_operations::ServerOperation;
pub use server_operations::upgrade_json;
