//! Identity: from the credentials of a client to a user name.
//!
//! [`Accounts`] is the entry point of servers. Its [`Authenticator`] takes [`Credentials`] and returns an [`Identity`],
//! which access control and the audit log use. Users are configuration (ietf-system, RFC 7317); tokens are rows of their own, because creating
//! one must not need the right to change the configuration.
//!
//! | module | content |
//! |---|---|
//! | `accounts` | [`Accounts`]: the authenticator with the users that are stored now |
//! | `authenticator` | [`Authenticator`]: all of the following in one call |
//! | `credentials` | [`Credentials`], [`Peer`], [`Identity`] |
//! | `user_changes` | adds and removes users |
//! | `users` | [`Users`] of ietf-system (RFC 7317), read from a datastore |
//! | `password`, `password_hashing` | hashes of `crypt(3)`; clear text is hashed before it is stored |
//! | `password_login` | logins by password; `pam` (feature `pam`): passwords of the operating system |
//! | `verified_passwords`, `verification_slots` | how often hashes are computed, and how many at the same time |
//! | `authorized_key` | public keys for SSH |
//! | `token`, `token_store` | bearer tokens: text, rows, creation, revocation |
//! | `cert_to_name`, `certificate_path`, `cert_maps` | names from TLS certificates (RFC 7407) |
//! | `os_accounts` | names of the peers of Unix sockets |
//! | `login_limit` | delays after failed logins |
//! | `http_credentials` | `Authorization: Basic` (RFC 7617) and `Bearer` (RFC 6750) |

mod accounts;
mod authentication_error;
mod authenticator;
mod authorized_key;
mod cert_maps;
mod cert_to_name;
mod certificate_path;
mod credentials;
mod http_credentials;
mod login_limit;
mod os_accounts;
#[cfg(feature = "pam")]
mod pam;
mod password;
mod password_hashing;
mod password_login;
mod random;
mod token;
mod token_store;
mod user_changes;
mod users;
mod verification_slots;
mod verified_passwords;

pub use accounts::Accounts;
pub use authentication_error::AuthenticationError;
pub use authenticator::{ANONYMOUS_USER, Anonymous, Authenticator};
pub use authorized_key::{AuthorizedKey, AuthorizedKeyError, KEY_DATA_BYTES_MAX, LINE_BYTES_MAX};
pub use cert_to_name::{
    AUTHORITIES_MAX, CertToName, CertToNameError, ENTRIES_MAX, Fingerprint, FingerprintError,
    MapEntry, MapType,
};
pub use certificate_path::{
    CERTIFICATE_BYTES_MAX, CHAIN_CERTIFICATES_MAX, CertificateError, SIGNATURES_MAX,
};
pub use credentials::{Credentials, Identity, Method, Peer};
pub use http_credentials::{AUTHORIZATION_BYTES_MAX, HttpCredentialsError, parse_authorization};
pub use login_limit::{
    DELAY_FIRST, DELAY_MAX, FAILURES_FREE, FAILURES_KEPT, LOGIN_KEPT, LoginLimit, TRACKED_MAX,
};
pub use os_accounts::{NameService, OsAccounts};
#[cfg(feature = "pam")]
pub use pam::Pam;
pub use password::{
    PASSWORD_BYTES_MAX, PasswordError, PasswordHash, SHA_ROUNDS_MAX, SHA512_ROUNDS, Scheme,
    YESCRYPT_MEMORY_MAX, YESCRYPT_SALT_CHARS_MAX, clear_text, hash_password, hash_to_store,
};
pub use password_hashing::{CLEAR_PASSWORDS_MAX, PasswordHasher, PasswordHashing};
pub use password_login::ExternalPasswords;
pub use random::RandomError;
pub(crate) use random::random_id;
pub use token::{
    Scope, TOKEN_ID_BYTES, TOKEN_LIFETIME_MAX, TOKEN_NAME_BYTES_MAX, TOKEN_PREFIX,
    TOKEN_SECRET_BYTES, Token, TokenId, TokenInfo, TokenTextError,
};
pub use token_store::{NewToken, TOKENS_MAX, TokenError, TokenStore};
pub use user_changes::{ADMINISTRATORS, NewUser, UserPassword, remove_user, set_user};
pub use users::{USER_NAME_BYTES_MAX, USERS_MAX, User, Users, UsersError, password_scheme};
pub use verification_slots::{VERIFICATION_WAIT_MAX, VERIFICATIONS_MAX, WAITING_MAX};
pub use verified_passwords::{VERIFIED_KEPT, VERIFIED_MAX};
