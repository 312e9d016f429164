//! Logins, and changes of users and tokens, with their audit records.

use std::fmt;

use espalier_store::{Result as StoreResult, Timestamp};

use crate::access::Caller;
use crate::audit::{AuditEntry, AuditOperation, AuditResult, AuditTarget};
use crate::identity::{
    AuthenticationError, Credentials, NewToken, NewUser, Peer, Token, TokenError, TokenId,
    TokenInfo, remove_user, set_user,
};
use crate::service::Service;
use crate::session::{Session, Transport};

/// Where a client logs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Door {
    /// The transport.
    pub transport: Transport,
    /// The client's address.
    pub peer: Peer,
}

impl Door {
    fn entry(self, operation: AuditOperation) -> AuditEntry {
        AuditEntry {
            transport: Some(self.transport.name().to_owned()),
            peer: match self.peer {
                Peer::Address(address) => Some(address.to_string()),
                Peer::Local => None,
            },
            ..AuditEntry::new(operation)
        }
    }
}

impl Service {
    /// Authenticates a client, and records a failure. Blocks: it may compute a password hash or read from the engine.
    ///
    /// # Errors
    /// The credentials are not sufficient, or cannot be verified now.
    pub fn log_in(
        &self,
        credentials: &Credentials,
        door: Door,
    ) -> Result<Caller, AuthenticationError> {
        let now = self.configuration().store().now();
        self.authenticate(credentials, door.peer, now)
            .inspect_err(|error| self.record_failed_login(credentials, door, error, now))
    }

    /// Records that a client is logged in: once for a connection, and for
    /// [`LOGIN_RECORD_INTERVAL`](crate::audit::LOGIN_RECORD_INTERVAL).
    ///
    /// # Errors
    /// `operation-failed` if the record is not stored and the settings require that it is.
    pub fn record_login(&self, caller: &Caller, door: Door) -> StoreResult<()> {
        let entry = AuditEntry {
            user: Some(caller.user.clone()),
            ..door.entry(AuditOperation::Login)
        };
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let login = [&entry.user, &entry.transport, &entry.peer].map(text);
        let now = self.configuration().store().now();
        match self.audit().is_new_login(login, now) {
            true => self.audit().append(entry),
            false => Ok(()),
        }
    }

    fn record_failed_login(
        &self,
        credentials: &Credentials,
        door: Door,
        error: &AuthenticationError,
        now: Timestamp,
    ) {
        if !is_recorded(error) {
            return;
        }
        let mut entry = door.entry(AuditOperation::LoginFailed);
        // People type passwords into the field for the name.
        if let Credentials::Password { user, .. } | Credentials::PublicKey { user, .. } =
            credentials
            && self.accounts().authenticator().users().get(user).is_some()
        {
            entry.user = Some(user.clone());
        }
        self.append_failed_login(entry, error, now);
    }

    /// Records that a client failed before it presented credentials: in the handshake of TLS, for example because its
    /// certificate is expired. `error` names the check that failed.
    pub fn record_failed_handshake(&self, door: Door, error: &dyn fmt::Display) {
        let now = self.configuration().store().now();
        self.append_failed_login(door.entry(AuditOperation::LoginFailed), error, now);
    }

    fn append_failed_login(&self, mut entry: AuditEntry, error: &dyn fmt::Display, now: Timestamp) {
        // Failures without a user, which need no knowledge, do not displace those in the name of one.
        let failed = self.failed_logins(entry.user.is_some());
        let Some(omitted) = failed.count(now) else {
            return;
        };
        entry.result = AuditResult::Error("access-denied".to_owned());
        entry.message = match omitted {
            0 => error.to_string(),
            omitted => format!("{error}; {omitted} earlier failures have no record"),
        };
        if let Err(error) = self.audit().append(entry) {
            tracing::warn!(%error, "a failed login has no audit record");
        }
    }

    /// Adds a user, or changes it. See [`set_user`].
    ///
    /// # Errors
    /// Those of [`set_user`].
    pub fn set_user(&self, session: &Session, user: NewUser<'_>) -> StoreResult<()> {
        set_user(self.configuration(), user)?;
        let message = match user.groups {
            [] => String::new(),
            groups => format!("groups: {}", groups.join(" ")),
        };
        self.audit().append(AuditEntry {
            target: Some(AuditTarget::User(user.name.to_owned())),
            message,
            ..AuditEntry::new(AuditOperation::UserChanged).of_session(session)
        })
    }

    /// Removes a user. `false` if there is none with this name. See [`remove_user`].
    ///
    /// # Errors
    /// Those of [`remove_user`].
    pub fn remove_user(&self, session: &Session, name: &str, author: &str) -> StoreResult<bool> {
        let is_removed = remove_user(self.configuration(), name, author)?;
        if is_removed {
            self.audit().append(AuditEntry {
                target: Some(AuditTarget::User(name.to_owned())),
                ..AuditEntry::new(AuditOperation::UserRemoved).of_session(session)
            })?;
        }
        Ok(is_removed)
    }

    /// Creates a token. See [`TokenStore::create`](crate::identity::TokenStore::create).
    ///
    /// # Errors
    /// Those of [`TokenStore::create`](crate::identity::TokenStore::create).
    pub fn create_token(
        &self,
        session: &Session,
        token: NewToken<'_>,
    ) -> Result<(Token, TokenInfo), TokenError> {
        let now = self.configuration().store().now();
        let message = format!("for {}", token.user);
        let created = self
            .accounts()
            .authenticator()
            .tokens()
            .create(token, now)?;
        self.record_token(session, AuditOperation::TokenCreated, created.1.id, message);
        Ok(created)
    }

    /// Revokes tokens with `revoke`, and returns their ids.
    ///
    /// # Errors
    /// Those of `revoke`.
    pub fn revoke_tokens(
        &self,
        session: &Session,
        revoke: impl FnOnce(&crate::identity::TokenStore) -> Result<Vec<TokenId>, TokenError>,
    ) -> Result<Vec<TokenId>, TokenError> {
        let revoked = revoke(self.accounts().authenticator().tokens())?;
        for &id in &revoked {
            self.record_token(session, AuditOperation::TokenRevoked, id, String::new());
        }
        Ok(revoked)
    }

    fn record_token(
        &self,
        session: &Session,
        operation: AuditOperation,
        id: TokenId,
        message: String,
    ) {
        let appended = self.audit().append(AuditEntry {
            target: Some(AuditTarget::Token(id.to_string())),
            message,
            ..AuditEntry::new(operation).of_session(session)
        });
        if let Err(error) = appended {
            tracing::warn!(%error, "a change of tokens has no audit record");
        }
    }
}

/// Whether the failure is that of a client that presented something.
fn is_recorded(error: &AuthenticationError) -> bool {
    !matches!(
        error,
        AuthenticationError::Required
            | AuthenticationError::Busy
            | AuthenticationError::TooManyFailures { .. }
            | AuthenticationError::Store(_)
            | AuthenticationError::Groups(_)
            | AuthenticationError::Configuration(_)
    )
}
