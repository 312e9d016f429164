//! Operations on the datastores of a server.

use crate::endpoint::remote::Remote;
use crate::endpoint::remote_error::failure_of;
use crate::endpoint::{OperationRequest, Outcome};
use espalier_terminal::Result;

/// The path in `serve` that accepts operations on datastores.
pub const DATASTORES_PATH: &str = "/espalier/datastores";

impl Remote {
    /// Sends an operation to the server and returns its result.
    pub(super) fn post_operation(&self, request: &OperationRequest) -> Result<Outcome> {
        let mut answer = self.post_json(DATASTORES_PATH, request)?;
        if !answer.status().is_success() {
            return Err(failure_of(answer));
        }
        let text = answer.body_mut().read_to_string();
        let text = text.map_err(|error| self.unreachable(&error))?;
        serde_json::from_str(&text).map_err(|error| std::io::Error::from(error).into())
    }
}
