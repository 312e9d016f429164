//! The encoding of records and heads.

use espalier_keyspace::{Change, Error, ErrorKind, KeyRange, Result};

use super::cell_store::Write;

const PUT: u8 = b'p';
const DELETE: u8 = b'd';
const DELETE_RANGE: u8 = b'r';
const DELETE_REST: u8 = b'a';

/// A head without changes.
const CHANGES_OMITTED: u8 = 0;

/// A head with its changes.
const CHANGES_INCLUDED: u8 = 1;

pub(crate) fn encode_writes(writes: &[Write]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for write in writes {
        match write {
            Write::Put(key, value) => push(&mut bytes, PUT, &[key, value]),
            Write::Delete(key) => push(&mut bytes, DELETE, &[key]),
            Write::DeleteRange(range) => push_range(&mut bytes, range),
        }
    }
    bytes
}

pub(crate) fn writes_of(bytes: &[u8]) -> Result<Vec<Write>> {
    let items = items(bytes)?.into_iter();
    Ok(items
        .map(|item| match item {
            Change::Put { key, value } => Write::Put(key, value),
            Change::Delete { key } => Write::Delete(key),
            Change::DeleteRange(range) => Write::DeleteRange(range),
        })
        .collect())
}

/// Encodes a head; `None` omits the changes.
pub(crate) fn encode_changes(changes: Option<&[Change]>) -> Vec<u8> {
    let Some(changes) = changes else {
        return vec![CHANGES_OMITTED];
    };
    let mut bytes = vec![CHANGES_INCLUDED];
    for change in changes {
        match change {
            Change::Put { key, value } => push(&mut bytes, PUT, &[key, value]),
            Change::Delete { key } => push(&mut bytes, DELETE, &[key]),
            Change::DeleteRange(range) => push_range(&mut bytes, range),
        }
    }
    bytes
}

/// The changes of a head; `None` if they are omitted.
pub(crate) fn changes_of(bytes: &[u8]) -> Result<Option<Vec<Change>>> {
    match bytes.split_first() {
        Some((&CHANGES_OMITTED, [])) => Ok(None),
        Some((&CHANGES_INCLUDED, rest)) => items(rest).map(Some),
        _ => Err(corrupt()),
    }
}

fn push(bytes: &mut Vec<u8>, kind: u8, parts: &[&[u8]]) {
    bytes.push(kind);
    for part in parts {
        let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
        bytes.extend(length.to_be_bytes());
        bytes.extend(*part);
    }
}

fn push_range(bytes: &mut Vec<u8>, range: &KeyRange) {
    match &range.end {
        Some(end) => push(bytes, DELETE_RANGE, &[&range.start, end]),
        None => push(bytes, DELETE_REST, &[&range.start]),
    }
}

fn items(bytes: &[u8]) -> Result<Vec<Change>> {
    let mut rest = bytes;
    let mut items = Vec::new();
    while let Some((&kind, tail)) = rest.split_first() {
        rest = tail;
        let start = part(&mut rest)?;
        items.push(match kind {
            PUT => Change::Put {
                key: start,
                value: part(&mut rest)?,
            },
            DELETE => Change::Delete { key: start },
            DELETE_RANGE => {
                let end = Some(part(&mut rest)?);
                Change::DeleteRange(KeyRange { start, end })
            }
            DELETE_REST => Change::DeleteRange(KeyRange { start, end: None }),
            _ => return Err(corrupt()),
        });
    }
    Ok(items)
}

fn part(rest: &mut &[u8]) -> Result<Vec<u8>> {
    let (length, tail) = rest.split_first_chunk().ok_or_else(corrupt)?;
    let length = u32::from_be_bytes(*length) as usize;
    let (part, tail) = tail.split_at_checked(length).ok_or_else(corrupt)?;
    *rest = tail;
    Ok(part.to_vec())
}

fn corrupt() -> Error {
    let message = "a record in the engine is damaged";
    Error::new(ErrorKind::Corrupt, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_and_heads_are_decoded() {
        let rest = KeyRange {
            start: b"x".to_vec(),
            end: None,
        };
        let writes = [
            Write::Put(b"k".to_vec(), vec![0; 70_000]),
            Write::Delete(b"".to_vec()),
            Write::DeleteRange(KeyRange::new("a", "b")),
            Write::DeleteRange(rest.clone()),
        ];
        let bytes = encode_writes(&writes);
        assert_eq!(writes_of(&bytes).expect("writes"), writes);
        assert!(writes_of(&bytes[..bytes.len() - 1]).is_err());
        assert!(writes_of(b"z\0\0\0\0").is_err());
        let changes = [Change::DeleteRange(rest)];
        let decoded = changes_of(&encode_changes(Some(&changes))).expect("a head");
        assert_eq!(decoded.as_deref(), Some(&changes[..]));
        assert_eq!(changes_of(&encode_changes(None)).expect("a head"), None);
        assert!(changes_of(b"").is_err());
    }
}
