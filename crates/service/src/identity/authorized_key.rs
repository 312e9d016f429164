//! Public keys of users for SSH: `authorized-key` of RFC 7317 §3.3, and the lines of OpenSSH's `authorized_keys`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The maximum length of the data of a key, in bytes: more than RSA keys of 16,384 bits have.
pub const KEY_DATA_BYTES_MAX: usize = 8 * 1024;

/// The maximum length of a line of `authorized_keys`, in bytes.
pub const LINE_BYTES_MAX: usize = 16 * 1024;

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AuthorizedKey {
    /// The name of the key: in `authorized_keys`, the comment.
    pub name: Box<str>,
    /// The public key algorithm (RFC 4253 §6.6): the one that the data begins with, such as `ssh-rsa`.
    algorithm: Box<str>,
    /// The public key blob of RFC 4253 §6.6.
    data: Box<[u8]>,
}

/// A public key that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthorizedKeyError {
    /// The data or the line is too long.
    #[error("the key has more than {KEY_DATA_BYTES_MAX} bytes (KEY_DATA_BYTES_MAX)")]
    TooLong,
    /// There is no algorithm or no data.
    #[error("the line is not `ALGORITHM DATA [COMMENT]`")]
    Incomplete,
    /// Options restrict what the key may do. To ignore them would give the key more rights.
    #[error("the line has options, which are not supported; remove them")]
    Options,
    /// The data is not base64.
    #[error("the data of the key is not base64")]
    Base64,
    /// The data is not a public key blob.
    #[error("the data of the key is not in the form of RFC 4253 section 6.6")]
    Malformed,
    /// The data is of another algorithm.
    #[error("the data of the key is of another algorithm than the one named")]
    OtherAlgorithm,
}

impl AuthorizedKey {
    /// A key from its parts. The name of an RSA signature algorithm (RFC 8332) stands for `ssh-rsa`, the algorithm of
    /// the key.
    ///
    /// # Errors
    /// The data is too long, malformed, or of another algorithm.
    pub fn new(name: &str, algorithm: &str, data: &[u8]) -> Result<Self, AuthorizedKeyError> {
        if data.len() > KEY_DATA_BYTES_MAX {
            return Err(AuthorizedKeyError::TooLong);
        }
        if algorithm_of(data)? != algorithm_of_key(algorithm) {
            return Err(AuthorizedKeyError::OtherAlgorithm);
        }
        Ok(Self {
            name: name.into(),
            algorithm: algorithm_of_key(algorithm).into(),
            data: data.into(),
        })
    }

    /// Parses a line of `authorized_keys`: algorithm, data in base64, and a comment. Returns `None` for an empty line
    /// and for a comment line.
    ///
    /// # Errors
    /// The line has options, or is not a key.
    pub fn parse_line(line: &str) -> Result<Option<Self>, AuthorizedKeyError> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(None);
        }
        if line.len() > LINE_BYTES_MAX {
            return Err(AuthorizedKeyError::TooLong);
        }
        let (algorithm, rest) = split_word(line).ok_or(AuthorizedKeyError::Incomplete)?;
        if !is_algorithm(algorithm) {
            return Err(AuthorizedKeyError::Options);
        }
        let (data, comment) = split_word(rest).unwrap_or((rest, ""));
        let data = STANDARD.decode(data);
        let data = data.map_err(|_| AuthorizedKeyError::Base64)?;
        Self::new(comment, algorithm, &data).map(Some)
    }

    /// The public key algorithm.
    pub fn algorithm(&self) -> &str {
        &self.algorithm
    }

    /// The public key blob.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Returns whether this is the key that a client presents: an algorithm and a public key blob.
    pub fn is_key(&self, algorithm: &str, data: &[u8]) -> bool {
        *self.algorithm == *algorithm_of_key(algorithm) && *self.data == *data
    }

    /// The line of `authorized_keys`.
    pub fn to_line(&self) -> String {
        let line = format!(
            "{} {} {}",
            self.algorithm,
            STANDARD.encode(&self.data),
            self.name
        );
        line.trim_end().to_owned()
    }
}

/// The algorithm of the keys of a signature algorithm (RFC 8332 §3).
fn algorithm_of_key(algorithm: &str) -> &str {
    match algorithm {
        "rsa-sha2-256" | "rsa-sha2-512" => "ssh-rsa",
        _ => algorithm,
    }
}

/// The algorithm that a public key blob begins with: 4 bytes with its length, and the name (RFC 4251 §5).
fn algorithm_of(data: &[u8]) -> Result<&str, AuthorizedKeyError> {
    let name = || {
        let (length, rest) = data.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let name = rest.get(..length).filter(|_| rest.len() > length)?;
        std::str::from_utf8(name).ok()
    };
    name()
        .filter(|name| is_algorithm(name))
        .ok_or(AuthorizedKeyError::Malformed)
}

/// Returns whether a word may be the name of a public key algorithm (RFC 4250 §4.6.1), not options.
fn is_algorithm(word: &str) -> bool {
    let has_prefix = ["ssh-", "ecdsa-", "sk-", "rsa-"]
        .iter()
        .any(|prefix| word.starts_with(prefix));
    let is_name = |character: u8| character.is_ascii_alphanumeric() || b"-.@_".contains(&character);
    has_prefix && word.bytes().all(is_name)
}

fn split_word(text: &str) -> Option<(&str, &str)> {
    let (word, rest) = text.split_once([' ', '\t'])?;
    Some((word, rest.trim_start()))
}
