//! Merges values into a row.

use std::cmp::Ordering;

use super::encoding::Entry;
use crate::number::{put_number, put_text};
use crate::{Number, Path, Result};

/// How an existing value is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MergeMode {
    /// The new value is added.
    Add,
    /// The new value replaces it.
    Set,
}

/// Writes the entries of `old`, changed by `values`, to `out`. Both are sorted by path.
pub(crate) fn merge(
    old: &[u8],
    values: &[(Path, Number)],
    mode: MergeMode,
    out: &mut Vec<u8>,
) -> Result<()> {
    let mut rest = old;
    let mut values = values.iter().peekable();
    while !rest.is_empty() {
        let before = rest;
        let entry = Entry::take(&mut rest)?;
        let mut is_changed = false;
        while let Some((path, value)) = values.peek() {
            match path.as_str().as_bytes().cmp(entry.path) {
                Ordering::Less => put(out, path.as_str().as_bytes(), *value),
                Ordering::Equal => {
                    let now =
                        combine(entry.number, *value, mode).map_err(|error| error.at(path))?;
                    put(out, entry.path, now);
                    is_changed = true;
                }
                Ordering::Greater => break,
            }
            values.next();
        }
        if !is_changed {
            out.extend_from_slice(&before[..before.len() - rest.len()]);
        }
    }
    for (path, value) in values {
        put(out, path.as_str().as_bytes(), *value);
    }
    Ok(())
}

/// The value of a path after a change.
pub(crate) fn combine(old: Number, new: Number, mode: MergeMode) -> Result<Number> {
    match mode {
        MergeMode::Add => old.plus(new),
        MergeMode::Set => Ok(new),
    }
}

fn put(out: &mut Vec<u8>, path: &[u8], number: Number) {
    put_text(out, path);
    put_number(out, number);
}
