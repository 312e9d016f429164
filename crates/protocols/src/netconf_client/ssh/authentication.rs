//! Tries the credentials of a user.

use std::path::Path;
use std::sync::Arc;

use russh::MethodKind;
use russh::client::{AuthResult, Handle, KeyboardInteractiveAuthResponse};
use russh::keys::agent::AgentIdentity;
use russh::keys::agent::client::AgentClient;
use russh::keys::{Algorithm, HashAlg, PrivateKey, PrivateKeyWithHashAlg, load_secret_key};

use super::connection::ClientHandler;
use super::options::{PasswordPrompt, SshOptions};
use crate::netconf_client::error::ClientError;

/// The maximum number of an agent's keys that are tried: servers close the connection after some.
const AGENT_KEYS_MAX: usize = 5;

/// The maximum number of dialogues with a server that prompts again and again.
const DIALOGUES_MAX: usize = 8;

/// The password, in messages.
const PASSWORD: &str = "the password";

/// Why a private key cannot be used.
#[derive(Debug, thiserror::Error)]
enum KeyError {
    #[error("it is encrypted, and there is no terminal to enter its passphrase")]
    Encrypted,
    #[error("{0}")]
    Unreadable(String),
}

/// The credentials of a user, as they are tried.
pub(super) struct Authentication<'a> {
    pub handle: &'a mut Handle<ClientHandler>,
    pub options: &'a SshOptions,
    pub user: &'a str,
    /// The host, for prompts.
    pub host: &'a str,
    /// What was tried.
    pub tried: Vec<String>,
    /// Keys that could not be tried, with the reason.
    pub unused: Vec<String>,
    /// The methods that the server accepts.
    pub methods: Vec<MethodKind>,
}

/// Whether the user is authenticated.
type Accepted = bool;

impl Authentication<'_> {
    /// Tries the credentials: keys that are named, then a given password, else the keys of the agent, the default keys, and
    /// a password that is prompted for.
    pub async fn run(mut self) -> Result<(), ClientError> {
        let none = self.handle.authenticate_none(self.user).await;
        if self.is_accepted(none.map_err(failed)?) {
            return Ok(());
        }
        let options = self.options;
        let is_accepted = self.files(&options.identities, true).await?
            || match &options.password {
                Some(password) => self.password(password.clone()).await?,
                None => {
                    self.agent().await?
                        || self.files(&options.default_identities, false).await?
                        || self.prompted_password().await?
                }
            };
        match is_accepted {
            true => Ok(()),
            false if self.handle.is_closed() && self.tried.is_empty() => Err(ClientError::Closed),
            false => Err(self.rejected()),
        }
    }

    fn rejected(self) -> ClientError {
        let methods: Vec<&str> = self.methods.iter().map(Into::into).collect();
        let unused = match self.unused.is_empty() {
            true => String::new(),
            false => format!("; {}", self.unused.join(", ")),
        };
        let tried = match &self.tried[..] {
            [] => format!(
                "there is no key and no password; it accepts {}{unused}",
                methods.join(", ")
            ),
            [one] => format!("{one} was not accepted{unused}"),
            [all @ .., last] => {
                format!("{} and {last} were not accepted{unused}", all.join(", "))
            }
        };
        ClientError::Authentication {
            user: self.user.to_owned(),
            tried,
        }
    }

    fn is_accepted(&mut self, result: AuthResult) -> Accepted {
        match result {
            AuthResult::Success => true,
            AuthResult::Failure {
                remaining_methods, ..
            } => {
                if !remaining_methods.is_empty() {
                    self.methods = remaining_methods.iter().copied().collect();
                }
                false
            }
        }
    }

    /// Whether the server accepts a method, as far as is known.
    fn has(&self, method: MethodKind) -> bool {
        !self.handle.is_closed() && (self.methods.is_empty() || self.methods.contains(&method))
    }

    async fn files(
        &mut self,
        files: &[std::path::PathBuf],
        is_required: bool,
    ) -> Result<Accepted, ClientError> {
        for file in files {
            if !is_required && (!self.has(MethodKind::PublicKey) || !file.exists()) {
                continue;
            }
            let prompt = self.options.prompt.as_ref();
            let key = match read_key(file, prompt).await {
                Ok(key) => key,
                Err(reason) if is_required => {
                    return Err(ClientError::PrivateKey {
                        file: file.clone(),
                        reason: reason.to_string(),
                        is_encrypted: matches!(reason, KeyError::Encrypted),
                    });
                }
                Err(reason) => {
                    tracing::debug!(file = %file.display(), %reason, "a private key was not used");
                    if matches!(reason, KeyError::Encrypted) {
                        let unused = format!("the key {} was not used: {reason}", file.display());
                        self.unused.push(unused);
                    }
                    continue;
                }
            };
            self.tried.push(format!("the key {}", file.display()));
            let hash = self.hash_of(&key.algorithm()).await?;
            let key = PrivateKeyWithHashAlg::new(Arc::new(key), hash);
            let result = self.handle.authenticate_publickey(self.user, key).await;
            if self.is_accepted(result.map_err(failed)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The hash of signatures with a key; keys other than RSA have one of their own.
    async fn hash_of(&self, algorithm: &Algorithm) -> Result<Option<HashAlg>, ClientError> {
        if !matches!(algorithm, Algorithm::Rsa { .. }) {
            return Ok(None);
        }
        let best = self.handle.best_supported_rsa_hash().await;
        // Servers that do not list their algorithms accept this one; SHA-1 is not used.
        Ok(best.map_err(failed)?.flatten().or(Some(HashAlg::Sha512)))
    }

    async fn agent(&mut self) -> Result<Accepted, ClientError> {
        let Some(socket) = self.options.agent.clone() else {
            return Ok(false);
        };
        if !self.has(MethodKind::PublicKey) {
            return Ok(false);
        }
        let connected = AgentClient::connect_uds(&socket).await;
        let Ok(mut agent) = connected else {
            tracing::debug!(socket = %socket.display(), "the SSH agent cannot be used");
            return Ok(false);
        };
        let identities = agent.request_identities().await.unwrap_or_default();
        let keys = identities
            .into_iter()
            .filter_map(|identity| match identity {
                AgentIdentity::PublicKey { key, comment } => Some((key, comment)),
                AgentIdentity::Certificate { .. } => None,
            });
        for (key, comment) in keys.take(AGENT_KEYS_MAX) {
            if !self.has(MethodKind::PublicKey) {
                break;
            }
            self.tried.push(format!("the key “{comment}” of the agent"));
            let hash = self.hash_of(&key.algorithm()).await?;
            let result = self
                .handle
                .authenticate_publickey_with(self.user, key, hash, &mut agent)
                .await;
            match result {
                Ok(result) => {
                    if self.is_accepted(result) {
                        return Ok(true);
                    }
                }
                Err(error) => tracing::debug!(%error, "the SSH agent did not sign"),
            }
        }
        Ok(false)
    }

    async fn prompted_password(&mut self) -> Result<Accepted, ClientError> {
        let takes_password =
            self.has(MethodKind::Password) || self.has(MethodKind::KeyboardInteractive);
        let Some(prompt) = self.options.prompt.clone().filter(|_| takes_password) else {
            return Ok(false);
        };
        let text = format!("Password of {} at {}: ", self.user, self.host);
        let password = read_prompted(prompt, text).await;
        let password = password.map_err(|error| {
            ClientError::Transport(format!("the password cannot be read: {error}"))
        })?;
        self.password(password).await
    }

    async fn password(&mut self, password: String) -> Result<Accepted, ClientError> {
        if self.has(MethodKind::Password) {
            self.tried.push(PASSWORD.to_owned());
            let result = self
                .handle
                .authenticate_password(self.user, password.clone())
                .await;
            if self.is_accepted(result.map_err(failed)?) {
                return Ok(true);
            }
        }
        match self.has(MethodKind::KeyboardInteractive) {
            true => self.dialogue(password).await,
            false => Ok(false),
        }
    }

    /// `keyboard-interactive` (RFC 4256): the password answers every hidden prompt.
    async fn dialogue(&mut self, password: String) -> Result<Accepted, ClientError> {
        // One password, however it is sent.
        if self.tried.last().is_none_or(|last| last != PASSWORD) {
            self.tried.push(PASSWORD.to_owned());
        }
        let started = self
            .handle
            .authenticate_keyboard_interactive_start(self.user, None);
        let mut response = started.await.map_err(failed)?;
        for _ in 0..DIALOGUES_MAX {
            let prompts = match response {
                KeyboardInteractiveAuthResponse::Success => return Ok(true),
                KeyboardInteractiveAuthResponse::Failure { .. } => return Ok(false),
                KeyboardInteractiveAuthResponse::InfoRequest { prompts, .. } => prompts,
            };
            let answers = prompts.iter().map(|prompt| match prompt.echo {
                true => self.user.to_owned(),
                false => password.clone(),
            });
            let answered = self
                .handle
                .authenticate_keyboard_interactive_respond(answers.collect());
            response = answered.await.map_err(failed)?;
        }
        Ok(false)
    }
}

pub(super) fn failed(error: russh::Error) -> ClientError {
    match error {
        russh::Error::HUP
        | russh::Error::Disconnect
        | russh::Error::SendError
        | russh::Error::RecvError => ClientError::Closed,
        error => ClientError::Transport(format!("SSH failed: {error}")),
    }
}

/// Reads a private key; its passphrase is prompted for if it has one.
async fn read_key(file: &Path, prompt: Option<&PasswordPrompt>) -> Result<PrivateKey, KeyError> {
    let failed = |reason: &dyn std::fmt::Display| KeyError::Unreadable(reason.to_string());
    match (load_secret_key(file, None), prompt) {
        (Err(russh::keys::Error::KeyIsEncrypted), Some(prompt)) => {
            let text = format!("Passphrase of {}: ", file.display());
            let passphrase = read_prompted(Arc::clone(prompt), text).await;
            let passphrase = passphrase.map_err(|error| failed(&error))?;
            let read = load_secret_key(file, Some(&passphrase));
            read.map_err(|error| failed(&format_args!("is the passphrase right? ({error})")))
        }
        (Err(russh::keys::Error::KeyIsEncrypted), None) => Err(KeyError::Encrypted),
        (read, _) => read.map_err(|error| failed(&error)),
    }
}

async fn read_prompted(prompt: PasswordPrompt, text: String) -> std::io::Result<String> {
    let read = tokio::task::spawn_blocking(move || prompt(&text)).await;
    read.map_err(std::io::Error::other)?
}
