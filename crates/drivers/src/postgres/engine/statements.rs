//! The SQL statements, in the common subset of PostgreSQL, CockroachDB, YugabyteDB and Citus.

/// A statement that every connection prepares. The discriminant is its index in [`TEXTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Query {
    ReadVersion,
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
    InsertLog,
    SetVersion,
    CommitId,
    LoggedAfter,
    TruncateLog,
    Usage,
    OutOfLimits,
    /// Rows whose readable columns are not filled yet. Only if the tables have them.
    WithoutColumns,
    /// Fills readable columns. Only if the tables have them.
    SetColumns,
}

/// The texts of the statements, in the order of [`Query`]. `{}` is the schema.
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

/// The further texts of a schema with readable columns.
const READABLE_TEXTS: &[&str] = &[
    "SELECT key, value FROM {}.entries WHERE path IS NULL ORDER BY key LIMIT $1",
    "UPDATE {}.entries AS entries SET document = shown.document, node = shown.node, \
     path = shown.path, leaves = CAST(shown.leaves AS jsonb) \
     FROM unnest($1::bytea[], $2::text[], $3::text[], $4::text[], $5::text[]) \
     AS shown (key, document, node, path, leaves) WHERE entries.key = shown.key",
];

/// An optimistic commit. It is applied, and returns one row, if the newest version is `$1`, keys `$5` have the values
/// `$6`, and the ranges from `$7` to `$8`, which it deletes, are not empty. All its parts read the state before it,
/// and wait for the first one, which takes the lock.
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

/// The text of [`COMMIT`], with a notification on the channel, if one is given.
pub(super) fn commit(schema: &str, channel: Option<&str>) -> String {
    let notify = match channel {
        Some(channel) => &format!("pg_notify('{channel}', '')"),
        None => "1",
    };
    let text = COMMIT.replace("{}", &format!("\"{schema}\""));
    text.replace("{notify}", notify)
}

/// The text of the statement that copies rows.
pub(super) fn copy(schema: &str) -> String {
    format!("COPY \"{schema}\".entries (key, value) FROM STDIN WITH (FORMAT binary)")
}

/// The clause that sets the value of an existing key.
const SET: &str = "SET value = excluded.value";

/// The same for tables with readable columns, which must be filled again.
const SET_CLEARING_COLUMNS: &str = "SET value = excluded.value, path = NULL";

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

    /// The statements of a schema with readable columns.
    pub(super) fn readable(schema: &str) -> Self {
        let quoted = format!("\"{schema}\"");
        let texts = TEXTS.iter().chain(READABLE_TEXTS);
        let texts = texts.map(|text| {
            text.replace("{}", &quoted)
                .replace(SET, SET_CLEARING_COLUMNS)
        });
        Self {
            texts: texts.collect(),
        }
    }

    /// All texts, in the order of [`Query`].
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_has_its_text() {
        assert_eq!(TEXTS.len(), Query::OutOfLimits as usize + 1);
        assert!(TEXTS[Query::Lock as usize].ends_with("FOR UPDATE"));
        assert!(TEXTS[Query::Put as usize].contains("VALUES ($1, $2)"));
        assert!(TEXTS[Query::CommitId as usize].starts_with("SELECT id"));
        assert!(READABLE_TEXTS[Query::SetColumns as usize - TEXTS.len()].starts_with("UPDATE"));
        let readable = Texts::readable("mine");
        assert!(readable.texts[Query::PutMany as usize].ends_with("path = NULL"));
        let texts = Texts::new("mine");
        assert!(texts.all().all(|text| text.contains("\"mine\".")));
    }
}
