//! The connection of a program to a server.

use std::io::Read;

use serde_json::{Value as Json, json};

use super::remote::Remote;
use super::remote_error::failure_of;
use espalier_terminal::Result;

/// The path of the connections in `serve`.
pub const PROVIDERS_PATH: &str = "/espalier/providers";

/// The path of the messages of programs.
pub const MESSAGES_PATH: &str = "/espalier/providers/messages";

impl Remote {
    /// Connects a program; returns the stream of its messages.
    pub fn connect_provider(&self, description: &Json) -> Result<impl Read + use<>> {
        let answer = self.post_json(PROVIDERS_PATH, description)?;
        if !answer.status().is_success() {
            return Err(failure_of(answer));
        }
        Ok(answer
            .into_body()
            .into_with_config()
            .limit(u64::MAX)
            .reader())
    }

    /// Sends a message of a connected program.
    pub fn send_to_provider(&self, connection: &str, message: &Json) -> Result<()> {
        let body = json!({"connection": connection, "messages": [message]});
        let answer = self.post_json(MESSAGES_PATH, &body)?;
        match answer.status().is_success() {
            true => Ok(()),
            false => Err(failure_of(answer)),
        }
    }
}
