//! Logins by password: which hash, how often, how many at the same time.

use std::fmt;
use std::sync::Arc;

use espalier_store::Timestamp;

use super::authentication_error::AuthenticationError;
use super::credentials::Peer;
use super::login_limit::LoginLimit;
use super::password::{PASSWORD_BYTES_MAX, PasswordHash};
use super::random::RandomError;
use super::users::{USER_NAME_BYTES_MAX, Users};
use super::verification_slots::VerificationSlots;
use super::verified_passwords::VerifiedPasswords;

/// Passwords that are kept elsewhere, as those of the operating system.
pub trait ExternalPasswords: fmt::Debug + Send + Sync + 'static {
    /// Returns whether `password` is that of `user`. May block for seconds. A password that cannot be verified is wrong;
    /// the reason is logged. Neither text has a NUL or is longer than the limits of this crate.
    fn is_password_of(&self, user: &str, password: &str) -> bool;
}

/// A try to log in.
#[derive(Clone, Copy)]
pub(super) struct PasswordLogin<'a> {
    pub user: &'a str,
    pub password: &'a str,
    pub peer: Peer,
    pub now: Timestamp,
}

/// The logins by password of a server.
pub(super) struct PasswordLogins {
    slots: VerificationSlots,
    verified: VerifiedPasswords,
    external: Option<Arc<dyn ExternalPasswords>>,
}

/// What a password is compared with.
enum Reference<'a> {
    /// The hash of the user.
    Hash(PasswordHash),
    /// A hash that no password of a client has, for a user without one.
    Decoy(PasswordHash),
    /// Passwords that are kept elsewhere.
    External(&'a dyn ExternalPasswords),
}

impl PasswordLogins {
    pub fn new() -> Result<Self, RandomError> {
        Ok(Self {
            slots: VerificationSlots::default(),
            verified: VerifiedPasswords::new()?,
            external: None,
        })
    }

    pub fn set_external(&mut self, external: Arc<dyn ExternalPasswords>) {
        self.external = Some(external);
    }

    pub fn has_external(&self) -> bool {
        self.external.is_some()
    }

    /// Verifies a password. Blocks.
    pub fn log_in(
        &self,
        users: &Users,
        limit: &LoginLimit,
        login: PasswordLogin<'_>,
    ) -> Result<(), AuthenticationError> {
        let PasswordLogin {
            user, peer, now, ..
        } = login;
        let check_limit = || {
            let checked = limit.check(user, peer, now);
            checked.map_err(|retry_after| AuthenticationError::TooManyFailures { retry_after })
        };
        let reference = self.reference(users, user)?;
        check_limit()?;
        if self.was_verified(&reference, login) {
            return Ok(());
        }
        let slot = self.slots.acquire().ok_or(AuthenticationError::Busy)?;
        // Both again: while this login waited, others failed, or verified the same password.
        check_limit()?;
        if self.was_verified(&reference, login) {
            return Ok(());
        }
        if !reference.is_met_by(login) {
            limit.record_failure(user, peer, now);
            return Err(AuthenticationError::Password);
        }
        if let Reference::Hash(hash) = &reference {
            self.verified.add(user, hash, login.password, now);
        }
        drop(slot);
        limit.record_login(user, peer, now);
        Ok(())
    }

    fn reference(&self, users: &Users, name: &str) -> Result<Reference<'_>, AuthenticationError> {
        let user = users.get(name);
        match &self.external {
            Some(external) if user.is_none() => return Ok(Reference::External(&**external)),
            None if !users.accepts_passwords() => {
                return Err(AuthenticationError::PasswordsNotAccepted);
            }
            _ => {}
        }
        match user.and_then(|user| user.password.as_ref()) {
            Some(Ok(hash)) if users.accepts_passwords() => Ok(Reference::Hash(hash.clone())),
            Some(Err(error)) => {
                tracing::warn!(user = name, %error, "the stored password of a user cannot be used");
                Ok(Reference::Decoy(users.decoy()))
            }
            _ => Ok(Reference::Decoy(users.decoy())),
        }
    }

    fn was_verified(&self, reference: &Reference<'_>, login: PasswordLogin<'_>) -> bool {
        let PasswordLogin {
            user,
            password,
            now,
            ..
        } = login;
        match reference {
            Reference::Hash(hash) => self.verified.contains(user, hash, password, now),
            Reference::Decoy(_) | Reference::External(_) => false,
        }
    }
}

impl Reference<'_> {
    fn is_met_by(&self, login: PasswordLogin<'_>) -> bool {
        let PasswordLogin { user, password, .. } = login;
        match self {
            Self::Hash(hash) => hash.is_hash_of(password.as_bytes()),
            Self::Decoy(hash) => {
                // Without effect, so that the time of the response does not show that there is no such user.
                std::hint::black_box(hash.is_hash_of(password.as_bytes()));
                false
            }
            Self::External(external) => {
                let is_valid = |text: &str, bytes_max| {
                    (1..=bytes_max).contains(&text.len()) && !text.contains('\0')
                };
                is_valid(user, USER_NAME_BYTES_MAX)
                    && is_valid(password, PASSWORD_BYTES_MAX)
                    && external.is_password_of(user, password)
            }
        }
    }
}
