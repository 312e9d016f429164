//! Reads many keys, some of which are cached.

use std::borrow::Cow;

use espalier_keyspace::{Result, is_key};

/// The values of keys, in the order of the keys.
pub(crate) type Values<'a> = Vec<Option<Cow<'a, [u8]>>>;

/// Returns the values of keys: cached ones from `cached`, the others from `read`. `read` is called at most
/// once, with legal keys only.
pub(crate) fn get_many<'a>(
    keys: &[&[u8]],
    cached: impl Fn(&[u8]) -> Option<Option<Cow<'a, [u8]>>>,
    read: impl FnOnce(&[&[u8]]) -> Result<Values<'a>>,
) -> Result<Values<'a>> {
    let mut values = Vec::with_capacity(keys.len());
    let (mut missing, mut positions) = (Vec::new(), Vec::new());
    for key in keys {
        let value = cached(key);
        if value.is_none() && is_key(key) {
            missing.push(*key);
            positions.push(values.len());
        }
        values.push(value.flatten());
    }
    if missing.is_empty() {
        return Ok(values);
    }
    let found = read(&missing)?;
    debug_assert_eq!(found.len(), missing.len());
    for (position, value) in positions.into_iter().zip(found) {
        values[position] = value;
    }
    Ok(values)
}
