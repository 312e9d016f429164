//! The tokens of a store, in rows of [`Subspace::Service`]: created, listed, revoked, verified.
//!
//! All processes that share the store share the tokens. A revocation is in force as soon as [`TokenStore::revoke`]
//! returns, because every verification reads the newest state of the engine.

use std::sync::Arc;
use std::time::Duration;

use espalier_keyspace::compact_encoding::{put_number, take_number};
use espalier_keyspace::{
    Batch, Direction, Driver, Error as KeyspaceError, KeyRange, KeyspaceCause, Propose, Snapshot,
    Transact,
};
use espalier_store::{Subspace, Timestamp};

use super::random::RandomError;
use super::token::{
    Scope, StoredToken, TOKEN_ID_BYTES, TOKEN_LIFETIME_MAX, TOKEN_NAME_BYTES_MAX, Token, TokenId,
    TokenInfo, TokenTextError,
};
use super::users::USER_NAME_BYTES_MAX;

/// The maximum number of tokens in a store, expired ones included.
pub const TOKENS_MAX: u64 = 10_000;

/// The rows of tokens, after the byte of the subspace.
const TOKENS: u8 = 0x01;

/// Within these: the number of tokens.
const COUNT: u8 = 0x00;

/// Within these: a token, by its id.
const TOKEN: u8 = 0x01;

/// A token to be created.
#[derive(Clone, Copy, Debug)]
pub struct NewToken<'a> {
    /// The user as whom the bearer acts.
    pub user: &'a str,
    /// What the user calls the token; need not be unique.
    pub name: &'a str,
    /// What the bearer may do.
    pub scope: Scope,
    /// After which time it expires.
    pub lifetime: Duration,
}

/// A failure of [`TokenStore`]. No message has a secret.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The engine failed.
    #[error(transparent)]
    Keyspace(#[from] KeyspaceError),
    /// No random bytes.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// A token is not one, is not stored (never, or no longer), or has another secret.
    #[error("the token is invalid: it was revoked, or never existed")]
    Invalid,
    /// A token is expired.
    #[error("the token is expired; create another one")]
    Expired,
    /// The user name is empty or too long.
    #[error(
        "the user name is empty or has more than {USER_NAME_BYTES_MAX} bytes (USER_NAME_BYTES_MAX)"
    )]
    UserName,
    /// The name of the token is too long, or has control characters.
    #[error(
        "the name of the token has control characters or more than {TOKEN_NAME_BYTES_MAX} bytes \
         (TOKEN_NAME_BYTES_MAX)"
    )]
    Name,
    /// The lifetime is zero or too long.
    #[error(
        "the lifetime of the token is zero or more than {} days (TOKEN_LIFETIME_MAX)",
        TOKEN_LIFETIME_MAX.as_secs() / 86_400
    )]
    Lifetime,
    /// There are too many tokens.
    #[error(
        "the store has {TOKENS_MAX} tokens (TOKENS_MAX); revoke some, or remove the expired ones"
    )]
    TooMany,
    /// A row was written by another version, or is damaged.
    #[error("the stored token {0} cannot be read: it is damaged or was written by a later version")]
    Unreadable(TokenId),
}

impl KeyspaceCause for TokenError {
    fn keyspace(&self) -> Option<&KeyspaceError> {
        match self {
            Self::Keyspace(error) => Some(error),
            _ => None,
        }
    }
}

impl From<TokenTextError> for TokenError {
    fn from(_: TokenTextError) -> Self {
        Self::Invalid
    }
}

/// The tokens of a store.
#[derive(Clone)]
pub struct TokenStore {
    driver: Arc<dyn Driver>,
}

impl TokenStore {
    /// The tokens in the key space of a store.
    pub fn new(driver: Arc<dyn Driver>) -> Self {
        Self { driver }
    }

    /// Creates a token. Its text is only available from the result ([`Token::reveal`]).
    ///
    /// # Errors
    /// A limit is exceeded, or the engine fails; nothing is created then.
    pub fn create(
        &self,
        request: NewToken<'_>,
        now: Timestamp,
    ) -> Result<(Token, TokenInfo), TokenError> {
        check(request)?;
        let token = Token::random()?;
        let lifetime = u64::try_from(request.lifetime.as_millis()).unwrap_or(u64::MAX);
        let info = TokenInfo {
            id: token.id,
            user: request.user.to_owned(),
            name: request.name.to_owned(),
            scope: request.scope,
            created: now,
            expires: Timestamp(now.0.saturating_add(lifetime)),
        };
        let value = StoredToken::new(&token, &info).to_bytes();
        let value = value.map_err(|_| TokenError::Unreadable(token.id))?;
        self.transact(&mut |snapshot| {
            let mut batch = Batch::new();
            if add_to_count(&mut batch, &*snapshot, 1)? > TOKENS_MAX {
                return Err(TokenError::TooMany);
            }
            batch.require(key_of(token.id), None);
            batch.put(key_of(token.id), value.clone());
            Ok((batch, ()))
        })?;
        Ok((token, info))
    }

    /// All tokens, by id; expired ones too.
    ///
    /// # Errors
    /// The engine fails, or a row cannot be read.
    pub fn list(&self) -> Result<Vec<TokenInfo>, TokenError> {
        self.driver.catch_up()?;
        let rows = rows(&*self.driver.snapshot()?)?;
        let info = |row: Row| match StoredToken::parse(&row.value) {
            Some(stored) => Ok(stored.into_info(row.id)),
            None => Err(TokenError::Unreadable(row.id)),
        };
        rows.into_iter().map(info).collect()
    }

    /// Revokes a token. Returns false if there is none with this id.
    ///
    /// # Errors
    /// The engine fails.
    pub fn revoke(&self, id: TokenId) -> Result<bool, TokenError> {
        let removed = self.remove(&mut |row| row.id == id)?;
        Ok(!removed.is_empty())
    }

    /// Revokes all tokens of a user, and returns their ids.
    ///
    /// # Errors
    /// The engine fails.
    pub fn revoke_all_of(&self, user: &str) -> Result<Vec<TokenId>, TokenError> {
        self.remove(&mut |row| row.stored().is_some_and(|info| info.user == user))
    }

    /// Removes the expired tokens, and returns their ids.
    ///
    /// # Errors
    /// The engine fails.
    pub fn remove_expired(&self, now: Timestamp) -> Result<Vec<TokenId>, TokenError> {
        self.remove(&mut |row| row.stored().is_some_and(|info| info.is_expired(now)))
    }

    /// Verifies the text of a token, and returns the stored token.
    ///
    /// # Errors
    /// It is invalid or expired, or the engine fails.
    pub fn verify(&self, text: &str, now: Timestamp) -> Result<TokenInfo, TokenError> {
        let token = Token::parse(text)?;
        // A cached state may lack a revocation, and no precondition protects a verification.
        self.driver.catch_up()?;
        let snapshot = self.driver.snapshot()?;
        let value = snapshot.get(&key_of(token.id))?;
        let value = value.ok_or(TokenError::Invalid)?;
        let stored = StoredToken::parse(&value).ok_or(TokenError::Unreadable(token.id))?;
        if !stored.has_secret_of(&token) {
            return Err(TokenError::Invalid);
        }
        let info = stored.into_info(token.id);
        match info.is_expired(now) {
            true => Err(TokenError::Expired),
            false => Ok(info),
        }
    }

    /// Removes the tokens that are selected, each only in the state in which it was selected.
    fn remove(&self, select: &mut dyn FnMut(&Row) -> bool) -> Result<Vec<TokenId>, TokenError> {
        self.transact(&mut |snapshot| {
            let mut selected = rows(&*snapshot)?;
            selected.retain(&mut *select);
            let mut batch = Batch::new();
            if selected.is_empty() {
                return Ok((batch, Vec::new()));
            }
            add_to_count(&mut batch, &*snapshot, -(selected.len() as i64))?;
            for row in &selected {
                batch.require(key_of(row.id), Some(row.value.clone()));
                batch.delete(key_of(row.id));
            }
            Ok((batch, selected.iter().map(|row| row.id).collect()))
        })
    }

    fn transact<T>(&self, propose: Propose<'_, T, TokenError>) -> Result<T, TokenError> {
        let snapshot = || Ok(self.driver.snapshot()?);
        Transact::new(&*self.driver).run(&snapshot, propose)
    }
}

fn check(request: NewToken<'_>) -> Result<(), TokenError> {
    let NewToken { user, name, .. } = request;
    if user.is_empty() || user.len() > USER_NAME_BYTES_MAX {
        return Err(TokenError::UserName);
    }
    if name.len() > TOKEN_NAME_BYTES_MAX || name.chars().any(char::is_control) {
        return Err(TokenError::Name);
    }
    match request.lifetime.is_zero() || request.lifetime > TOKEN_LIFETIME_MAX {
        true => Err(TokenError::Lifetime),
        false => Ok(()),
    }
}

/// A row of a token.
struct Row {
    id: TokenId,
    value: Vec<u8>,
}

impl Row {
    fn stored(&self) -> Option<TokenInfo> {
        StoredToken::parse(&self.value).map(|stored| stored.into_info(self.id))
    }
}

/// All rows of tokens; there are at most [`TOKENS_MAX`].
fn rows(snapshot: &dyn Snapshot) -> Result<Vec<Row>, TokenError> {
    let prefix = key(TOKEN);
    let mut cursor = snapshot.scan(&KeyRange::prefix(&prefix), Direction::Forward)?;
    let mut rows = Vec::new();
    while let Some((key, value)) = cursor.next()? {
        let id = key.strip_prefix(prefix.as_slice());
        if let Some(id) = id.and_then(|id| <[u8; TOKEN_ID_BYTES]>::try_from(id).ok()) {
            rows.push(Row {
                id: TokenId(id),
                value: value.to_vec(),
            });
        }
    }
    Ok(rows)
}

/// Changes the number of tokens in a batch, and returns the new number. The batch then conflicts with every other
/// change of tokens, so the number is exact.
fn add_to_count(batch: &mut Batch, snapshot: &dyn Snapshot, delta: i64) -> Result<u64, TokenError> {
    let value = snapshot.get(&key(COUNT))?.map(|value| value.into_owned());
    let count = value
        .as_deref()
        .and_then(|mut value| take_number(&mut value));
    let count = count.unwrap_or(0).saturating_add_signed(delta);
    let mut bytes = Vec::new();
    put_number(&mut bytes, count);
    batch.require(key(COUNT), value);
    batch.put(key(COUNT), bytes);
    Ok(count)
}

fn key(kind: u8) -> Vec<u8> {
    let mut key = Subspace::Service.key();
    key.extend([TOKENS, kind]);
    key
}

fn key_of(id: TokenId) -> Vec<u8> {
    let mut key = key(TOKEN);
    key.extend(id.0);
    key
}
