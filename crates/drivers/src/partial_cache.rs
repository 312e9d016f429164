//! Many keys at once, of which some are known.

use std::borrow::Cow;

use espalier_keyspace::{Result, is_key};

/// What keys hold, in their order.
pub(crate) type Values<'a> = Vec<Option<Cow<'a, [u8]>>>;

/// The values of keys: those that are known, and the others as `ask` finds them, which is called once,
/// with legal keys, or not at all.
pub(crate) fn get_many<'a>(
    keys: &[&[u8]],
    known: impl Fn(&[u8]) -> Option<Option<Cow<'a, [u8]>>>,
    ask: impl FnOnce(&[&[u8]]) -> Result<Values<'a>>,
) -> Result<Values<'a>> {
    let mut values = Vec::with_capacity(keys.len());
    let (mut unknown, mut places) = (Vec::new(), Vec::new());
    for key in keys {
        let value = known(key);
        if value.is_none() && is_key(key) {
            unknown.push(*key);
            places.push(values.len());
        }
        values.push(value.flatten());
    }
    if unknown.is_empty() {
        return Ok(values);
    }
    let found = ask(&unknown)?;
    debug_assert_eq!(found.len(), unknown.len());
    for (place, value) in places.into_iter().zip(found) {
        values[place] = value;
    }
    Ok(values)
}
