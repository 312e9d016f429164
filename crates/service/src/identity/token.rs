//! Bearer tokens: their text and their stored form.

use std::fmt;
use std::fmt::Write as _;
use std::str::FromStr;
use std::time::Duration;

use espalier_store::Timestamp;
use serde::{Deserialize, Serialize};

use super::random::{RandomError, random_bytes};

/// Bytes of the id of a token.
pub const TOKEN_ID_BYTES: usize = 8;

/// Bytes of the secret of a token.
pub const TOKEN_SECRET_BYTES: usize = 32;

/// The longest lifetime of a token: two years.
pub const TOKEN_LIFETIME_MAX: Duration = Duration::from_secs(731 * 24 * 3600);

/// The maximum length of the name of a token, in bytes.
pub const TOKEN_NAME_BYTES_MAX: usize = 128;

/// What the text of every token begins with, so that scanners for leaked secrets find it.
pub const TOKEN_PREFIX: &str = "esp_";

/// The version of the stored form.
const STORED_FORMAT: u32 = 1;

/// The public part of a token: names it in lists, commands and logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenId(pub(super) [u8; TOKEN_ID_BYTES]);

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(&self.0))
    }
}

impl FromStr for TokenId {
    type Err = TokenTextError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        from_hex(text).map(Self).ok_or(TokenTextError)
    }
}

/// A text is not the id of a token, or not a token. The message has no part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a token: a token is esp_, 16 hexadecimal digits, _, and 64 hexadecimal digits")]
pub struct TokenTextError;

/// A token as its bearer has it. Only its hash is stored. `Debug` has no secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// The public part.
    pub id: TokenId,
    secret: [u8; TOKEN_SECRET_BYTES],
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Token {
    /// A new random token.
    pub(super) fn random() -> Result<Self, RandomError> {
        Ok(Self {
            id: TokenId(random_bytes()?),
            secret: random_bytes()?,
        })
    }

    /// Parses the text of a token.
    ///
    /// # Errors
    /// It is not one.
    pub fn parse(text: &str) -> Result<Self, TokenTextError> {
        let parts = text
            .strip_prefix(TOKEN_PREFIX)
            .and_then(|rest| rest.split_once('_'));
        let (id, secret) = parts.ok_or(TokenTextError)?;
        Ok(Self {
            id: id.parse()?,
            secret: from_hex(secret).ok_or(TokenTextError)?,
        })
    }

    /// The text for the bearer, with the secret. It can only be shown when the token is created.
    pub fn reveal(&self) -> String {
        format!("{TOKEN_PREFIX}{}_{}", self.id, to_hex(&self.secret))
    }

    /// A fast hash, because the secret has 256 random bits and cannot be guessed.
    fn hash(&self) -> blake3::Hash {
        blake3::hash(&self.secret)
    }
}

/// What the bearer of a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// All that the user may do.
    Full,
    /// Of that, reads only.
    ReadOnly,
}

/// A stored token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenInfo {
    /// The public part.
    pub id: TokenId,
    /// The user as whom the bearer acts.
    pub user: String,
    /// What the user calls the token.
    pub name: String,
    /// What the bearer may do.
    pub scope: Scope,
    /// When it was created.
    pub created: Timestamp,
    /// From when on it is rejected.
    pub expires: Timestamp,
}

impl TokenInfo {
    /// Whether the token is rejected at a time.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        now >= self.expires
    }
}

/// The value of a token's row, as JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct StoredToken {
    format: u32,
    /// The BLAKE3 hash of the secret, in hex.
    hash: String,
    user: String,
    name: String,
    scope: Scope,
    created_ms: u64,
    expires_ms: u64,
}

impl StoredToken {
    pub fn new(token: &Token, info: &TokenInfo) -> Self {
        Self {
            format: STORED_FORMAT,
            hash: token.hash().to_hex().to_string(),
            user: info.user.clone(),
            name: info.name.clone(),
            scope: info.scope,
            created_ms: info.created.0,
            expires_ms: info.expires.0,
        }
    }

    /// Parses a row's value; `None` if it is of another format.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let parsed: Self = serde_json::from_slice(value).ok()?;
        (parsed.format == STORED_FORMAT).then_some(parsed)
    }

    pub fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }

    /// Returns whether the secret is that of the token. The comparison takes the same time for all secrets.
    pub fn has_secret_of(&self, token: &Token) -> bool {
        let hash = blake3::Hash::from_hex(&self.hash);
        hash.is_ok_and(|hash| hash == token.hash())
    }

    pub fn into_info(self, id: TokenId) -> TokenInfo {
        TokenInfo {
            id,
            user: self.user,
            name: self.name,
            scope: self.scope,
            created: Timestamp(self.created_ms),
            expires: Timestamp(self.expires_ms),
        }
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Parses lower-case digits only, so that a token has one text.
fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N {
        return None;
    }
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}
