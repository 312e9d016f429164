//! The one way from credentials to an identity.

use std::sync::Arc;

use espalier_store::Timestamp;
use parking_lot::RwLock;
use rustix::process::geteuid;

use super::authentication_error::AuthenticationError;
use super::cert_to_name::CertToName;
use super::credentials::{Credentials, Identity, Method, Peer};
use super::login_limit::LoginLimit;
use super::os_accounts::OsAccounts;
use super::password_login::{ExternalPasswords, PasswordLogin, PasswordLogins};
use super::random::RandomError;
use super::token::Scope;
use super::token_store::{TokenError, TokenStore};
use super::users::Users;

/// The user name of a client without credentials, if that is permitted.
pub const ANONYMOUS_USER: &str = "anonymous";

/// The user id of root.
const ROOT_UID: u32 = 0;

/// Whether a client without credentials is let in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Anonymous {
    /// Never.
    #[default]
    Rejected,
    /// From this machine, while no user is configured.
    LocalWithoutUsers,
    /// From anywhere, while no user is configured.
    WithoutUsers,
}

/// Authenticates the clients of a server. Shared by its connections.
pub struct Authenticator {
    users: RwLock<Arc<Users>>,
    certificates: RwLock<Arc<CertToName>>,
    tokens: TokenStore,
    accounts: Box<dyn OsAccounts>,
    anonymous: Anonymous,
    limit: LoginLimit,
    passwords: PasswordLogins,
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
            passwords: PasswordLogins::new()?,
        })
    }

    /// Verifies the passwords of users that are not in ietf-system with `external`. These users have the groups of the
    /// operating system, however they authenticate.
    #[must_use]
    pub fn with_external_passwords(mut self, external: Arc<dyn ExternalPasswords>) -> Self {
        self.passwords.set_external(external);
        self
    }

    /// Whether there are users beyond those of ietf-system: see [`Self::with_external_passwords`].
    pub fn has_external_passwords(&self) -> bool {
        self.passwords.has_external()
    }

    /// Replaces the users, after a commit has changed them.
    pub fn set_users(&self, users: Arc<Users>) {
        *self.users.write() = users;
    }

    /// Replaces the map from certificates to names.
    pub fn set_certificates(&self, certificates: Arc<CertToName>) {
        *self.certificates.write() = certificates;
    }

    /// Whether the map from certificates to names has the fingerprint of this certificate itself, in DER.
    pub fn is_pinned(&self, certificate: &[u8]) -> bool {
        let certificates = Arc::clone(&self.certificates.read());
        certificates.has_fingerprint_of(certificate)
    }

    /// The users at present.
    pub fn users(&self) -> Arc<Users> {
        Arc::clone(&self.users.read())
    }

    /// Whether a user can log in with some password.
    pub(crate) fn can_have_password(&self, name: &str) -> bool {
        let users = self.users();
        match users.get(name) {
            Some(user) => users.accepts_passwords() && user.password.is_some(),
            None => self.has_external_passwords(),
        }
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
        let identity = match credentials {
            Credentials::Password { user, password } => self.by_password(user, password, peer, now),
            Credentials::Token(text) => self.by_token(text, now),
            Credentials::PublicKey {
                user,
                algorithm,
                data,
            } => self.by_public_key(user, algorithm, data),
            Credentials::Certificate(chain) => self.by_certificate(chain, now),
            Credentials::UnixPeer { uid } => self.by_uid(*uid),
            Credentials::None => return self.without_credentials(peer),
        }?;
        let groups = self.os_groups(&identity.user)?;
        Ok(Identity { groups, ..identity })
    }

    /// The groups that a user has in the operating system; none for the users of ietf-system, and where passwords of
    /// the operating system are not accepted: there, an account with the name of a user need not be the user's.
    fn os_groups(&self, user: &str) -> Result<Vec<String>, AuthenticationError> {
        match self.passwords.has_external() && self.users().get(user).is_none() {
            true => self
                .accounts
                .groups(user)
                .map_err(AuthenticationError::Groups),
            false => Ok(Vec::new()),
        }
    }

    fn by_password(
        &self,
        user: &str,
        password: &str,
        peer: Peer,
        now: Timestamp,
    ) -> Result<Identity, AuthenticationError> {
        let login = PasswordLogin {
            user,
            password,
            peer,
            now,
        };
        self.passwords.log_in(&self.users(), &self.limit, login)?;
        Ok(Identity::new(user, Method::Password))
    }

    /// Failures do not delay later tries: a secret of 256 bits cannot be guessed, and a client with an old token must
    /// not lock out the others at its address.
    fn by_token(&self, text: &str, now: Timestamp) -> Result<Identity, AuthenticationError> {
        let token = self.tokens.verify(text, now).map_err(|error| match error {
            TokenError::Invalid => AuthenticationError::Token,
            TokenError::Expired => AuthenticationError::TokenExpired,
            error => AuthenticationError::Store(error),
        })?;
        let users = self.users();
        // A user that was removed from ietf-system has no access any more.
        let is_local = !users.is_empty() && !self.passwords.has_external();
        if is_local && users.get(&token.user).is_none() {
            return Err(AuthenticationError::Token);
        }
        Ok(Identity {
            is_read_only: token.scope == Scope::ReadOnly,
            ..Identity::new(token.user, Method::Token)
        })
    }

    /// Failures do not delay later tries: a private key cannot be guessed.
    fn by_public_key(
        &self,
        user: &str,
        algorithm: &str,
        data: &[u8],
    ) -> Result<Identity, AuthenticationError> {
        let users = self.users();
        match users.get(user) {
            Some(user) if user.has_key(algorithm, data) => {
                Ok(Identity::new(&*user.name, Method::PublicKey))
            }
            _ => Err(AuthenticationError::PublicKey),
        }
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
        // The user of the server can read and change the files of the store anyway.
        let is_recovery = uid == ROOT_UID || uid == geteuid().as_raw();
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
        let is_peer_permitted = match self.anonymous {
            Anonymous::Rejected => false,
            Anonymous::LocalWithoutUsers => peer.is_on_this_machine(),
            Anonymous::WithoutUsers => true,
        };
        match is_peer_permitted && self.users.read().is_empty() {
            true => Ok(Identity::new(ANONYMOUS_USER, Method::Anonymous)),
            false => Err(AuthenticationError::Required),
        }
    }
}
