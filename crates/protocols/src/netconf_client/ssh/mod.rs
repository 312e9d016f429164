//! SSH to a server (RFC 6242).
//!
//! | file | content |
//! |---|---|
//! | `options.rs` | [`SshOptions`]: the user, its credentials, and which host keys are accepted |
//! | `host_key.rs` | compares the host key with `known_hosts` |
//! | `authentication.rs` | tries the credentials |
//! | `connection.rs` | opens the subsystem `netconf` |

mod authentication;
mod connection;
mod host_key;
mod options;

pub(super) use connection::open;
pub use host_key::HostKeyError;
pub use options::{HostKeyPolicy, PasswordPrompt, SshOptions};
