//! Passwords of the operating system, by PAM: the feature `pam`.
//!
//! PAM itself delays the answer after a failure, by about two seconds with `pam_unix`, during which the login occupies
//! one of the slots for verifications. The option `nodelay` of `pam_unix` avoids that; the server has its own delays.

use std::ffi::{OsStr, OsString};

use nonstick::items::Items;
use nonstick::{
    AuthnFlags, ConversationAdapter, ErrorCode, PamShared, Result as PamResult, Transaction,
    TransactionBuilder,
};

use super::password_login::ExternalPasswords;

/// The passwords that a PAM service accepts.
#[derive(Clone, Debug)]
pub struct Pam {
    service: String,
}

impl Pam {
    /// The service with this name, configured in `/etc/pam.d`. `None` if the name has other characters than letters,
    /// digits, `-` and `_`.
    pub fn new(service: &str) -> Option<Self> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let is_valid = !service.is_empty() && service.bytes().all(is_name);
        is_valid.then(|| Self {
            service: service.to_owned(),
        })
    }

    fn verify(&self, user: &str, password: &str) -> PamResult<()> {
        let answers = Answers { user, password };
        let mut transaction = TransactionBuilder::new_with_service(&self.service)
            .username(user)
            .build(answers.into_conversation())?;
        transaction.authenticate(AuthnFlags::DISALLOW_NULL_AUTHTOK)?;
        transaction.account_management(AuthnFlags::DISALLOW_NULL_AUTHTOK)?;
        // A module may have mapped the user to another one, whose rights are not those that were requested.
        match transaction.items().user()? {
            Some(verified) if verified == user => Ok(()),
            _ => Err(ErrorCode::UserUnknown),
        }
    }
}

impl ExternalPasswords for Pam {
    fn is_password_of(&self, user: &str, password: &str) -> bool {
        match self.verify(user, password) {
            Ok(()) => true,
            Err(ErrorCode::AuthenticationError | ErrorCode::UserUnknown) => false,
            Err(error) => {
                tracing::warn!(service = self.service, user, %error, "PAM rejected a login");
                false
            }
        }
    }
}

/// Answers the prompts of PAM modules.
struct Answers<'a> {
    user: &'a str,
    password: &'a str,
}

impl ConversationAdapter for Answers<'_> {
    fn prompt(&self, _request: impl AsRef<OsStr>) -> PamResult<OsString> {
        Ok(self.user.into())
    }

    fn masked_prompt(&self, _request: impl AsRef<OsStr>) -> PamResult<OsString> {
        Ok(self.password.into())
    }

    fn error_msg(&self, _message: impl AsRef<OsStr>) {}

    fn info_msg(&self, _message: impl AsRef<OsStr>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_services_are_no_paths() {
        assert!(Pam::new("espalier").is_some());
        for name in ["", "../etc/passwd", "a/b", "a\0", "ä"] {
            assert!(Pam::new(name).is_none(), "{name}");
        }
    }

    #[test]
    fn a_user_that_does_not_exist_is_rejected() {
        let pam = Pam::new("espalier-test").unwrap();
        assert!(!pam.is_password_of("espalier-nobody", "secret"));
    }
}
