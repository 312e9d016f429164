//! How a client uses SSH.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Reads a password from a person; the argument is what is shown. It may block.
pub type PasswordPrompt = Arc<dyn Fn(&str) -> io::Result<String> + Send + Sync>;

/// Which host keys are accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostKeyPolicy {
    /// Those in `known_hosts`.
    #[default]
    Known,
    /// Also that of a host that is not in `known_hosts`; it is added.
    AcceptNew,
    /// Any: an attacker who controls the network can read and change the session.
    Any,
}

/// How a client uses SSH.
#[derive(Clone, Default)]
pub struct SshOptions {
    /// The user, if the target has none.
    pub user: String,
    /// The password. Without it, [`Self::prompt`] is used after all keys were rejected.
    pub password: Option<String>,
    /// Reads a password, or the passphrase of a key.
    pub prompt: Option<PasswordPrompt>,
    /// Files with private keys. A file that cannot be read is an error.
    pub identities: Vec<PathBuf>,
    /// Files with private keys that need not exist.
    pub default_identities: Vec<PathBuf>,
    /// The socket of an agent.
    pub agent: Option<PathBuf>,
    /// Files of OpenSSH's format with the keys of hosts. New keys are added to the first one.
    pub known_hosts: Vec<PathBuf>,
    /// The name of the host in `known_hosts`; `None` for the host of the target.
    pub host_key_alias: Option<String>,
    /// Which host keys are accepted.
    pub host_key_policy: HostKeyPolicy,
}

impl fmt::Debug for SshOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("SshOptions")
            .field("user", &self.user)
            .field("identities", &self.identities)
            .field("host_key_policy", &self.host_key_policy)
            .finish_non_exhaustive()
    }
}
