//! Random bytes of the operating system, for secrets and salts.

use rand::TryRngCore;
use rand::rngs::OsRng;

/// The operating system gave no random bytes. Nothing was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system provides no random bytes; nothing was created")]
pub struct RandomError;

/// A random text that nobody can guess: 32 hexadecimal digits.
pub(crate) fn random_id() -> Result<String, RandomError> {
    let bytes: [u8; 16] = random_bytes()?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Random bytes of the operating system's generator.
pub(super) fn random_bytes<const N: usize>() -> Result<[u8; N], RandomError> {
    let mut bytes = [0; N];
    OsRng.try_fill_bytes(&mut bytes).map_err(|_| RandomError)?;
    Ok(bytes)
}
