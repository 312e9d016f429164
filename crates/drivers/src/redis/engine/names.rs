//! The names of the Redis keys; and the members of the undo set, which the scripts write: a key with `00` as
//! `00 FF`, terminated by `00 00`, and a version, big endian.

/// The names of the Redis keys of one key space.
pub(crate) struct KeyNames {
    prefix: String,
    pub(crate) meta: String,
    pub(crate) keys: String,
    pub(crate) runs: String,
    pub(crate) values: String,
    pub(crate) rows: String,
    pub(crate) undo: String,
    pub(crate) before: String,
    pub(crate) packed: String,
    pub(crate) pending: String,
    pub(crate) queue: String,
    pub(crate) log: String,
}

impl KeyNames {
    pub(crate) fn new(prefix: &str) -> Self {
        let name = |last: &str| format!("{{{prefix}}}:{last}");
        Self {
            meta: name("meta"),
            keys: name("keys"),
            runs: name("runs"),
            values: name("values"),
            rows: name("rows"),
            undo: name("undo"),
            before: name("before"),
            packed: name("packed"),
            pending: name("pending"),
            queue: name("queue"),
            log: name("log"),
            prefix: name(""),
        }
    }

    /// The Redis key with a session's last commit.
    pub(crate) fn session(&self, session: &str) -> String {
        format!("{}lane:{session}", self.prefix)
    }

    /// The Redis key with a session's staged batch.
    pub(crate) fn stage(&self, session: &str) -> String {
        format!("{}stage:{session}", self.prefix)
    }
}

/// Decodes the key of an undo member; `None` if it is not valid.
pub(crate) fn key_of_undo_member(member: &[u8]) -> Option<Vec<u8>> {
    let body = member.get(..member.len().checked_sub(10)?)?;
    let mut key = Vec::with_capacity(body.len());
    let mut bytes = body.iter();
    while let Some(&byte) = bytes.next() {
        key.push(byte);
        if byte == 0 && bytes.next() != Some(&0xff) {
            return None;
        }
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes an undo member as the commit script does.
    fn undo_member(key: &[u8], version: u64) -> Vec<u8> {
        let mut member = Vec::new();
        for &byte in key {
            member.push(byte);
            if byte == 0 {
                member.push(0xff);
            }
        }
        member.extend([0, 0]);
        member.extend(version.to_be_bytes());
        member
    }

    #[test]
    fn members_sort_as_keys_and_versions_do() {
        let keys: [&[u8]; 8] = [
            b"\0", b"\0\0", b"\0a", b"a", b"a\0", b"a\0\xff", b"aa", b"b",
        ];
        let members = keys.map(|key| [1, 300].map(|version| undo_member(key, version)));
        assert!(members.as_flattened().is_sorted());
        for (key, members) in keys.iter().zip(&members) {
            assert_eq!(key_of_undo_member(&members[0]).as_deref(), Some(*key));
        }
        assert_eq!(key_of_undo_member(b"short"), None);
    }
}
