//! The one way from credentials to an identity.

use std::sync::Arc;
use std::time::Duration;

use espalier_store::Timestamp;
use parking_lot::RwLock;

use super::cert_to_name::CertToName;
use super::certificate_path::CertificateError;
use super::credentials::{Credentials, Identity, Method, Peer};
use super::login_limit::LoginLimit;
use super::os_accounts::OsAccounts;
use super::password::PasswordHash;
use super::random::RandomError;
use super::token::Scope;
use super::token_store::{TokenError, TokenStore};
use super::users::{USER_NAME_BYTES_MAX, Users};
use super::verification_slots::VerificationSlots;
use super::verified_passwords::VerifiedPasswords;

/// The user name of a client without credentials, if that is permitted.
pub const ANONYMOUS_USER: &str = "anonymous";

/// The user id of root.
const ROOT_UID: u32 = 0;

/// A failed authentication. No message has a secret, or shows whether a user exists.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticationError {
    /// There are no credentials.
    #[error("authentication is required")]
    Required,
    /// The user does not exist or has another password.
    #[error("the user name or the password is wrong")]
    Password,
    /// Passwords are not accepted (RFC 7317 §3.3).
    #[error(
        "passwords are not accepted: user-authentication-order of ietf-system does not have local-users"
    )]
    PasswordsNotAccepted,
    /// The token is not valid, or its user was removed.
    #[error("the token is invalid or was revoked")]
    Token,
    /// The token is expired.
    #[error("the token is expired")]
    TokenExpired,
    /// The certificate cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// No entry of cert-to-name gives a name for the certificate.
    #[error("the certificate has no user: no entry of cert-to-name matches")]
    UnmappedCertificate,
    /// The user id has no name.
    #[error("user id {0} has no name on this machine")]
    UnknownUid(u32),
    /// There were too many failures.
    #[error("too many failed logins; retry in {} seconds", retry_after.as_secs() + 1)]
    TooManyFailures {
        /// The time until the next try.
        retry_after: Duration,
    },
    /// The server computes too many password hashes.
    #[error("the server is busy with other logins; retry")]
    Busy,
    /// The stored tokens could not be read.
    #[error("the token could not be verified: {0}")]
    Store(TokenError),
}

/// Whether a client without credentials is let in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Anonymous {
    /// Never.
    #[default]
    Rejected,
    /// From this machine, while no user is configured.
    LocalWithoutUsers,
}

/// Authenticates the clients of a server. Shared by its connections.
pub struct Authenticator {
    users: RwLock<Arc<Users>>,
    certificates: RwLock<Arc<CertToName>>,
    tokens: TokenStore,
    accounts: Box<dyn OsAccounts>,
    anonymous: Anonymous,
    limit: LoginLimit,
    slots: VerificationSlots,
    verified: VerifiedPasswords,
}

impl Authenticator {
    /// An authenticator without users and without a map of certificates.
    ///
    /// # Errors
    /// The operating system gives no random bytes.
    pub fn new(
        tokens: TokenStore,
        accounts: impl OsAccounts,
        anonymous: Anonymous,
    ) -> Result<Self, RandomError> {
        Ok(Self {
            users: RwLock::default(),
            certificates: RwLock::default(),
            tokens,
            accounts: Box::new(accounts),
            anonymous,
            limit: LoginLimit::default(),
            slots: VerificationSlots::default(),
            verified: VerifiedPasswords::new()?,
        })
    }

    /// Replaces the users, after a commit has changed them.
    pub fn set_users(&self, users: Arc<Users>) {
        *self.users.write() = users;
    }

    /// Replaces the map from certificates to names.
    pub fn set_certificates(&self, certificates: Arc<CertToName>) {
        *self.certificates.write() = certificates;
    }

    /// The users at present.
    pub fn users(&self) -> Arc<Users> {
        Arc::clone(&self.users.read())
    }

    /// The stored tokens.
    pub fn tokens(&self) -> &TokenStore {
        &self.tokens
    }

    /// Authenticates a client. Blocks: it may compute a password hash, wait for other logins, or read from the engine.
    ///
    /// # Errors
    /// The credentials are not sufficient, or cannot be verified now.
    pub fn authenticate(
        &self,
        credentials: &Credentials,
        peer: Peer,
        now: Timestamp,
    ) -> Result<Identity, AuthenticationError> {
        match credentials {
            Credentials::Password { user, password } => self.by_password(user, password, peer, now),
            Credentials::Token(text) => self.by_token(text, peer, now),
            Credentials::Certificate(chain) => self.by_certificate(chain, now),
            Credentials::UnixPeer { uid } => self.by_uid(*uid),
            Credentials::None => self.without_credentials(peer),
        }
    }

    fn by_password(
        &self,
        user: &str,
        password: &str,
        peer: Peer,
        now: Timestamp,
    ) -> Result<Identity, AuthenticationError> {
        let users = self.users();
        if !users.accepts_passwords() {
            return Err(AuthenticationError::PasswordsNotAccepted);
        }
        let identity = || Identity::new(user, Method::Password);
        let (hash, is_known) = hash_of(&users, user);
        self.check_limit(Some(user), peer, now)?;
        if is_known && self.verified.contains(user, &hash, password, now) {
            return Ok(identity());
        }
        let slot = self.slots.acquire().ok_or(AuthenticationError::Busy)?;
        // Both again: while this login waited, others failed, or the same password was verified.
        self.check_limit(Some(user), peer, now)?;
        if is_known && self.verified.contains(user, &hash, password, now) {
            return Ok(identity());
        }
        // The hash is computed for an unknown user too, so that the time of the answer does not show it.
        let is_correct = hash.is_hash_of(password.as_bytes()) & is_known;
        if !is_correct {
            self.limit.record_failure(Some(user), peer, now);
            return Err(AuthenticationError::Password);
        }
        drop(slot);
        self.verified.add(user, &hash, password, now);
        self.limit.record_login(user, peer, now);
        Ok(identity())
    }

    fn by_token(
        &self,
        text: &str,
        peer: Peer,
        now: Timestamp,
    ) -> Result<Identity, AuthenticationError> {
        self.check_limit(None, peer, now)?;
        let token = match self.tokens.verify(text, now) {
            Ok(token) => token,
            Err(TokenError::Invalid) => {
                self.limit.record_failure(None, peer, now);
                return Err(AuthenticationError::Token);
            }
            Err(TokenError::Expired) => return Err(AuthenticationError::TokenExpired),
            Err(error) => return Err(AuthenticationError::Store(error)),
        };
        let users = self.users();
        if !users.is_empty() && users.get(&token.user).is_none() {
            return Err(AuthenticationError::Token);
        }
        Ok(Identity {
            is_read_only: token.scope == Scope::ReadOnly,
            ..Identity::new(token.user, Method::Token)
        })
    }

    fn by_certificate(
        &self,
        chain: &[Vec<u8>],
        now: Timestamp,
    ) -> Result<Identity, AuthenticationError> {
        let certificates = Arc::clone(&self.certificates.read());
        let user = certificates.user_of(chain, now)?;
        let user = user.ok_or(AuthenticationError::UnmappedCertificate)?;
        Ok(Identity::new(user, Method::Certificate))
    }

    fn by_uid(&self, uid: u32) -> Result<Identity, AuthenticationError> {
        let name = self.accounts.name(uid);
        let is_recovery = uid == ROOT_UID;
        let name = name.or_else(|| is_recovery.then(|| "root".to_owned()));
        Ok(Identity {
            is_recovery,
            ..Identity::new(
                name.ok_or(AuthenticationError::UnknownUid(uid))?,
                Method::UnixPeer,
            )
        })
    }

    fn without_credentials(&self, peer: Peer) -> Result<Identity, AuthenticationError> {
        let is_permitted = self.anonymous == Anonymous::LocalWithoutUsers
            && self.users.read().is_empty()
            && peer.is_on_this_machine();
        match is_permitted {
            true => Ok(Identity::new(ANONYMOUS_USER, Method::Anonymous)),
            false => Err(AuthenticationError::Required),
        }
    }

    fn check_limit(
        &self,
        user: Option<&str>,
        peer: Peer,
        now: Timestamp,
    ) -> Result<(), AuthenticationError> {
        let checked = self.limit.check(user, peer, now);
        checked.map_err(|retry_after| AuthenticationError::TooManyFailures { retry_after })
    }
}

/// The hash that a password is compared with, and whether it is that of the user.
fn hash_of(users: &Users, name: &str) -> (PasswordHash, bool) {
    let user = users
        .get(name)
        .filter(|user| user.name.len() <= USER_NAME_BYTES_MAX);
    match user.and_then(|user| user.password.as_ref()) {
        Some(Ok(hash)) => (hash.clone(), true),
        Some(Err(error)) => {
            tracing::warn!(user = name, %error, "the stored password of a user cannot be used");
            (users.decoy(), false)
        }
        None => (users.decoy(), false),
    }
}
