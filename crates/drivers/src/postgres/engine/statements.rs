//! The statements, all of the common subset of PostgreSQL, CockroachDB, YugabyteDB and Citus.

/// A statement that every connection prepares. The discriminant is its place in [`TEXTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Query {
    Version,
    VersionAndMany,
    Lock,
    Get,
    GetMany,
    FindMany,
    FirstKey,
    Forward,
    ForwardTo,
    Backward,
    BackwardFrom,
    Put,
    PutMany,
    DeleteMany,
    DeleteFrom,
    DeleteRange,
    Log,
    Raise,
    Logged,
    LoggedAfter,
    Forget,
    Keys,
    Strange,
    /// Only where rows have columns for people: those that are not filled in yet.
    Unshown,
    /// The same: fills in columns.
    Show,
}

/// Their texts, in the same order; `{}` is the schema.
const TEXTS: &[&str] = &[
    "SELECT version FROM {}.state WHERE id = 1",
    "SELECT version, key, value FROM {}.state LEFT JOIN {}.entries ON key = ANY($1::bytea[]) \
     WHERE id = 1",
    "SELECT version FROM {}.state WHERE id = 1 FOR UPDATE",
    "SELECT value FROM {}.entries WHERE key = $1",
    "SELECT key, value FROM {}.entries WHERE key = ANY($1::bytea[])",
    "SELECT key FROM {}.entries WHERE key = ANY($1::bytea[])",
    "SELECT key FROM {}.entries WHERE key >= $1 ORDER BY key LIMIT 1",
    "SELECT key, value FROM {}.entries WHERE key >= $1 ORDER BY key LIMIT $2",
    "SELECT key, value FROM {}.entries WHERE key >= $1 AND key < $2 ORDER BY key LIMIT $3",
    "SELECT key, value FROM {}.entries WHERE key >= $1 ORDER BY key DESC LIMIT $2",
    "SELECT key, value FROM {}.entries WHERE key >= $1 AND key < $2 ORDER BY key DESC LIMIT $3",
    "INSERT INTO {}.entries (key, value) VALUES ($1, $2) \
     ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    "INSERT INTO {}.entries (key, value) SELECT * FROM unnest($1::bytea[], $2::bytea[]) \
     ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    "DELETE FROM {}.entries WHERE key = ANY($1::bytea[])",
    "DELETE FROM {}.entries WHERE key >= $1",
    "DELETE FROM {}.entries WHERE key >= $1 AND key < $2",
    "INSERT INTO {}.commits (version, id, changes) VALUES ($1, $2, $3)",
    "UPDATE {}.state SET version = $1 WHERE id = 1",
    "SELECT id FROM {}.commits WHERE version = $1",
    "SELECT version, changes FROM {}.commits WHERE version > $1 ORDER BY version LIMIT $2",
    "DELETE FROM {}.commits WHERE version <= $1",
    "SELECT count(*), CAST(coalesce(sum(length(key) + length(value)), 0) AS bigint) \
     FROM {}.entries",
    "SELECT key FROM {}.entries \
     WHERE length(key) < 1 OR length(key) > $1 OR length(value) > $2 LIMIT $3",
];

/// Those of a schema whose rows have columns for people.
const READABLE_TEXTS: &[&str] = &[
    "SELECT key, value FROM {}.entries WHERE path IS NULL ORDER BY key LIMIT $1",
    "UPDATE {}.entries AS entries SET document = shown.document, node = shown.node, \
     path = shown.path, leaves = CAST(shown.leaves AS jsonb) \
     FROM unnest($1::bytea[], $2::text[], $3::text[], $4::text[], $5::text[]) \
     AS shown (key, document, node, path, leaves) WHERE entries.key = shown.key",
];

/// A small commit: applied where the newest version is `$1` and what is required of keys (`$5`, `$6`)
/// and of ranges that are cleared (`$7`, `$8`) is so; then it has one row. All its parts see the state
/// before it, and all wait for the first, which takes the lock.
const COMMIT: &str = "WITH raised AS ( \
         UPDATE {}.state SET version = $2 WHERE id = 1 AND version = $1 \
         AND NOT EXISTS ( \
             SELECT 1 FROM unnest($5::bytea[], $6::bytea[]) AS required (key, value) \
             LEFT JOIN {}.entries AS stored ON stored.key = required.key \
             WHERE required.value IS DISTINCT FROM stored.value) \
         AND NOT EXISTS ( \
             SELECT 1 FROM unnest($7::bytea[], $8::bytea[]) AS gone (first, after) \
             WHERE NOT EXISTS (SELECT 1 FROM {}.entries WHERE key >= first AND key < after)) \
         RETURNING version), \
     logged AS ( \
         INSERT INTO {}.commits (version, id, changes) SELECT version, $3::bytea, $4::bytea FROM raised), \
     deleted AS ( \
         DELETE FROM {}.entries AS stored \
         USING raised, unnest($7::bytea[], $8::bytea[]) AS gone (first, after) \
         WHERE stored.key >= first AND stored.key < after AND stored.key <> ALL($9::bytea[])), \
     put AS ( \
         INSERT INTO {}.entries (key, value) \
         SELECT put.key, put.value FROM raised, unnest($9::bytea[], $10::bytea[]) AS put (key, value) \
         ON CONFLICT (key) DO UPDATE SET value = excluded.value) \
     SELECT {notify} FROM raised";

/// The text of [`COMMIT`], which tells those who listen to a channel.
pub(super) fn commit(schema: &str, channel: Option<&str>) -> String {
    let notify = match channel {
        Some(channel) => &format!("pg_notify('{channel}', '')"),
        None => "1",
    };
    let text = COMMIT.replace("{}", &format!("\"{schema}\""));
    text.replace("{notify}", notify)
}

/// The text that has the server take rows as they come.
pub(super) fn copy(schema: &str) -> String {
    format!("COPY \"{schema}\".entries (key, value) FROM STDIN WITH (FORMAT binary)")
}

/// How a statement sets the value of a key that is there.
const SET: &str = "SET value = excluded.value";

/// The same, where the columns for people have to be filled in again.
const SET_UNSHOWN: &str = "SET value = excluded.value, path = NULL";

/// The statements of one schema.
pub(super) struct Texts {
    texts: Vec<String>,
}

impl Texts {
    pub(super) fn new(schema: &str) -> Self {
        let quoted = format!("\"{schema}\"");
        let texts = TEXTS.iter().map(|text| text.replace("{}", &quoted));
        Self {
            texts: texts.collect(),
        }
    }

    /// The statements of a schema whose rows have columns for people.
    pub(super) fn readable(schema: &str) -> Self {
        let quoted = format!("\"{schema}\"");
        let texts = TEXTS.iter().chain(READABLE_TEXTS);
        let texts = texts.map(|text| text.replace("{}", &quoted).replace(SET, SET_UNSHOWN));
        Self {
            texts: texts.collect(),
        }
    }

    /// Every text, in the order of [`Query`].
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_has_its_text() {
        assert_eq!(TEXTS.len(), Query::Strange as usize + 1);
        assert!(TEXTS[Query::Lock as usize].ends_with("FOR UPDATE"));
        assert!(TEXTS[Query::Put as usize].contains("VALUES ($1, $2)"));
        assert!(TEXTS[Query::Logged as usize].starts_with("SELECT id"));
        assert!(READABLE_TEXTS[Query::Show as usize - TEXTS.len()].starts_with("UPDATE"));
        let readable = Texts::readable("mine");
        assert!(readable.texts[Query::PutMany as usize].ends_with("path = NULL"));
        let texts = Texts::new("mine");
        assert!(texts.all().all(|text| text.contains("\"mine\".")));
    }
}
