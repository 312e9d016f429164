//! Asking a server to do something with its datastores.

use crate::target::remote::Remote;
use crate::target::remote_error::failure_of;
use crate::target::{Acting, Outcome};
use espalier_terminal::Result;

/// Where `serve` takes what is to be done with datastores.
pub const DATASTORES_PATH: &str = "/espalier/datastores";

impl Remote {
    /// Has the server do it.
    pub(super) fn act_there(&self, acting: &Acting) -> Result<Outcome> {
        let mut answer = self.post_json(DATASTORES_PATH, acting)?;
        if !answer.status().is_success() {
            return Err(failure_of(answer));
        }
        let text = answer.body_mut().read_to_string();
        let text = text.map_err(|error| self.unreachable(&error))?;
        serde_json::from_str(&text).map_err(|error| std::io::Error::from(error).into())
    }
}
