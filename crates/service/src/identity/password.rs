//! Password hashes in the form of `crypt(3)`, as the type `crypt-hash` of iana-crypt-hash (RFC 7317 §3.3) has them.
//!
//! Only hashes with a bounded cost are accepted, because every client that reaches the login makes the server compute
//! one.

use std::fmt;

use sha_crypt::{Algorithm, PasswordHasher, PasswordVerifier, ShaCrypt};
use yescrypt::Yescrypt;

use super::random::{RandomError, random_bytes};

/// The maximum length of a password, in bytes: that of `crypt(3)`. The cost of SHA-crypt grows with the square of the
/// length.
pub const PASSWORD_BYTES_MAX: usize = 512;

/// The rounds of a new SHA-512 hash.
pub const SHA512_ROUNDS: u32 = 100_000;

/// The maximum number of rounds of an accepted SHA-256 or SHA-512 hash; about 0.4 s of computation.
pub const SHA_ROUNDS_MAX: u32 = 1_000_000;

/// The maximum memory of an accepted yescrypt hash, in bytes; about 0.4 s of computation. A new hash needs
/// 16 MiB.
pub const YESCRYPT_MEMORY_MAX: u64 = 64 << 20;

/// The maximum length of the salt of an accepted yescrypt hash, in characters.
pub const YESCRYPT_SALT_CHARS_MAX: usize = 86;

/// Bytes of the salt of a new yescrypt hash.
const YESCRYPT_SALT_BYTES: usize = 16;

/// Bytes of the salt of a new SHA-512 hash: 16 characters, all that the algorithm uses.
const SHA_SALT_BYTES: usize = 12;

/// Characters of the salt of a SHA-256 or SHA-512 hash.
const SHA_SALT_CHARS_MAX: usize = 16;

/// The digits of numbers and of base64 in `crypt(3)`, by value.
const DIGITS: &[u8] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The hash that the password of an unknown user is compared with, so that the response takes as long as for a
/// configured user: the hash of a random password that was not recorded.
const YESCRYPT_DECOY: &str =
    "$y$j9T$QzJkVw3bXfHr0sUe6yTn51$SwFyC2w5TundHVOWVeS.M2K2GvO5pzyujJrHsmFWRq0";

/// How a password is hashed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// SHA-256 crypt, `$5$`.
    Sha256,
    /// SHA-512 crypt, `$6$`: the strongest of RFC 7317.
    Sha512,
    /// yescrypt, `$y$`: needs memory, which makes guessing on special hardware costly.
    #[default]
    Yescrypt,
}

/// A value that is not an accepted password hash. No message has a part of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    /// `$1$`.
    #[error("the password hash is MD5 ($1$), which is not secure; set the password anew")]
    Md5,
    /// `$0$`, in a place where only hashes may be.
    #[error("the password is in clear text ($0$) and must be hashed before it is stored")]
    ClearText,
    /// Another scheme.
    #[error("the password hash has an unsupported scheme; use $y$ (yescrypt), $6$ or $5$")]
    Unsupported,
    /// The form of the scheme is violated.
    #[error("the password hash is malformed")]
    Malformed,
    /// More than [`SHA_ROUNDS_MAX`] rounds, or fewer than 1,000.
    #[error(
        "the password hash has fewer than 1000 or more than {SHA_ROUNDS_MAX} rounds (SHA_ROUNDS_MAX)"
    )]
    Rounds,
    /// More memory than [`YESCRYPT_MEMORY_MAX`].
    #[error(
        "the password hash needs more than {YESCRYPT_MEMORY_MAX} bytes of memory (YESCRYPT_MEMORY_MAX)"
    )]
    Memory,
    /// A password to be hashed is empty.
    #[error("the password is empty")]
    Empty,
    /// A password to be hashed is too long.
    #[error("the password has more than {PASSWORD_BYTES_MAX} bytes (PASSWORD_BYTES_MAX)")]
    TooLong,
    /// No random bytes for the salt.
    #[error(transparent)]
    Random(#[from] RandomError),
}

/// A password hash that can be verified at a bounded cost.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash {
    scheme: Scheme,
    text: Box<str>,
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PasswordHash")
            .field("scheme", &self.scheme)
            .finish_non_exhaustive()
    }
}

impl PasswordHash {
    /// Parses a hash.
    ///
    /// # Errors
    /// The hash has another scheme, is malformed, or would cost too much to verify.
    pub fn parse(text: &str) -> Result<Self, PasswordError> {
        let fields: Vec<&str> = text.split('$').collect();
        let scheme = match *fields.as_slice() {
            ["", "0", ..] => return Err(PasswordError::ClearText),
            ["", "1", ..] => return Err(PasswordError::Md5),
            ["", "5", ref rest @ ..] => check_sha(rest, 43).map(|()| Scheme::Sha256),
            ["", "6", ref rest @ ..] => check_sha(rest, 86).map(|()| Scheme::Sha512),
            ["", "y", ref rest @ ..] => check_yescrypt(rest).map(|()| Scheme::Yescrypt),
            _ => Err(PasswordError::Unsupported),
        }?;
        Ok(Self {
            scheme,
            text: text.into(),
        })
    }

    /// The fixed hash that passwords of unknown users are compared with, of a random password that was not recorded.
    pub fn decoy() -> Self {
        Self {
            scheme: Scheme::Yescrypt,
            text: YESCRYPT_DECOY.into(),
        }
    }

    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The text, to be stored.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether this is the hash of `password`. The final comparison takes the same time for all hashes. A
    /// password longer than [`PASSWORD_BYTES_MAX`] is wrong.
    pub fn is_hash_of(&self, password: &[u8]) -> bool {
        if password.len() > PASSWORD_BYTES_MAX {
            return false;
        }
        let verified = match self.scheme {
            Scheme::Yescrypt => Yescrypt::default().verify_password(password, &*self.text),
            Scheme::Sha256 | Scheme::Sha512 => {
                ShaCrypt::default().verify_password(password, &*self.text)
            }
        };
        verified.is_ok()
    }
}

/// Hashes a password with a random salt.
///
/// # Errors
/// The password is empty or too long, or there are no random bytes.
pub fn hash_password(password: &str, scheme: Scheme) -> Result<PasswordHash, PasswordError> {
    if password.is_empty() {
        return Err(PasswordError::Empty);
    }
    if password.len() > PASSWORD_BYTES_MAX {
        return Err(PasswordError::TooLong);
    }
    let password = password.as_bytes();
    let hashed = match scheme {
        Scheme::Yescrypt => {
            let salt = random_bytes::<YESCRYPT_SALT_BYTES>()?;
            Yescrypt::default().hash_password_with_salt(password, &salt)
        }
        Scheme::Sha256 => hash_sha(password, Algorithm::Sha256Crypt)?,
        Scheme::Sha512 => hash_sha(password, Algorithm::Sha512Crypt)?,
    };
    let hashed = hashed.map_err(|_| PasswordError::Malformed)?;
    PasswordHash::parse(hashed.as_str())
}

/// The hash to store for a value of a client: the value itself if it is an accepted hash, or the hash of its password
/// if it is in clear text (`$0$`, RFC 7317 §3.3).
///
/// # Errors
/// Those of [`PasswordHash::parse`] and [`hash_password`].
pub fn hash_to_store(value: &str, scheme: Scheme) -> Result<PasswordHash, PasswordError> {
    match clear_text(value) {
        Some(password) => hash_password(password, scheme),
        None => PasswordHash::parse(value),
    }
}

/// The password of a value in clear text, `$0$` and the password.
pub fn clear_text(value: &str) -> Option<&str> {
    value.strip_prefix("$0$")
}

type Hashed = sha_crypt::password_hash::Result<sha_crypt::PasswordHash>;

fn hash_sha(password: &[u8], algorithm: Algorithm) -> Result<Hashed, PasswordError> {
    let salt = random_bytes::<SHA_SALT_BYTES>()?;
    let rounds = sha_crypt::Params::new(SHA512_ROUNDS).map_err(|_| PasswordError::Rounds)?;
    Ok(ShaCrypt::new(algorithm, rounds).hash_password_with_salt(password, &salt))
}

/// Checks `rounds=`, if there, salt and hash.
fn check_sha(fields: &[&str], hash_chars: usize) -> Result<(), PasswordError> {
    let (salt, hash) = match *fields {
        [salt, hash] => (salt, hash),
        [rounds, salt, hash] => {
            check_rounds(rounds)?;
            (salt, hash)
        }
        _ => return Err(PasswordError::Malformed),
    };
    let has_salt = (1..=SHA_SALT_CHARS_MAX).contains(&salt.len()) && has_only_digits(salt);
    match has_salt && hash.len() == hash_chars && is_base64(hash) {
        true => Ok(()),
        false => Err(PasswordError::Malformed),
    }
}

fn check_rounds(text: &str) -> Result<(), PasswordError> {
    let digits = text.strip_prefix("rounds=").filter(|digits| {
        !digits.starts_with('0') && digits.bytes().all(|digit| digit.is_ascii_digit())
    });
    let digits = digits.ok_or(PasswordError::Malformed)?;
    match digits.parse() {
        Ok(sha_crypt::Params::ROUNDS_MIN..=SHA_ROUNDS_MAX) => Ok(()),
        _ => Err(PasswordError::Rounds),
    }
}

/// Checks parameters, salt and hash. The parameters that `crypt_gensalt` makes have three characters: the flavour `j`,
/// the logarithm of N, and r; each number from 1.
fn check_yescrypt(fields: &[&str]) -> Result<(), PasswordError> {
    let &[parameters, salt, hash] = fields else {
        return Err(PasswordError::Malformed);
    };
    let &[b'j', log2_n, r] = parameters.as_bytes() else {
        return Err(PasswordError::Unsupported);
    };
    let (Some(log2_n), Some(r)) = (digit_value(log2_n), digit_value(r)) else {
        return Err(PasswordError::Malformed);
    };
    // Larger numbers have several characters; the memory is 128 · r · N bytes.
    if log2_n >= DIGIT_END || r >= DIGIT_END {
        return Err(PasswordError::Unsupported);
    }
    let memory = (128 * (r as u64 + 1)) << (log2_n + 1);
    if memory > YESCRYPT_MEMORY_MAX {
        return Err(PasswordError::Memory);
    }
    let has_salt = (1..=YESCRYPT_SALT_CHARS_MAX).contains(&salt.len()) && is_base64(salt);
    match has_salt && hash.len() == 43 && is_base64(hash) {
        true => Ok(()),
        false => Err(PasswordError::Malformed),
    }
}

/// A first character from this value on begins a number of several characters.
const DIGIT_END: usize = 48;

fn has_only_digits(text: &str) -> bool {
    text.bytes().all(|character| DIGITS.contains(&character))
}

/// Returns whether a text encodes whole bytes. Another text would fail to verify without the cost of a hash, which
/// would show that the user exists.
fn is_base64(text: &str) -> bool {
    let last = text.bytes().last().and_then(digit_value);
    let has_whole_bytes = match text.len() % 4 {
        0 => true,
        1 => false,
        2 => last.is_some_and(|value| value < 1 << 2),
        _ => last.is_some_and(|value| value < 1 << 4),
    };
    has_whole_bytes && has_only_digits(text)
}

fn digit_value(character: u8) -> Option<usize> {
    DIGITS.iter().position(|&digit| digit == character)
}
