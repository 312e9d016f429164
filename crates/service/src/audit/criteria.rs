//! Which records a reader selects.

use super::operation::AuditOperation;
use super::record::{AuditEntry, AuditResult};
use super::truncate::TRUNCATION_MARK;

/// Conditions on a record; all that are set must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditCriteria {
    /// The name of the user.
    pub user: Option<String>,
    /// The id of the session.
    pub session: Option<String>,
    /// The operation.
    pub operation: Option<AuditOperation>,
    /// The result.
    pub result: Option<ResultCriterion>,
    /// An instance identifier: the record has this path or a path below it. A record with omitted or
    /// truncated paths matches if one of these could be below, so that no record is missed.
    pub path_prefix: Option<String>,
}

/// A condition on the result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultCriterion {
    /// Success.
    Ok,
    /// Any error.
    AnyError,
    /// This error-tag.
    ErrorTag(String),
}

impl AuditCriteria {
    /// Whether an entry fulfils the conditions.
    pub fn matches(&self, entry: &AuditEntry) -> bool {
        let is_equal =
            |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
        is_equal(&self.user, &entry.user)
            && is_equal(&self.session, &entry.session)
            && self
                .operation
                .is_none_or(|operation| operation == entry.operation)
            && self
                .result
                .as_ref()
                .is_none_or(|result| result.matches(&entry.result))
            && self
                .path_prefix
                .as_ref()
                .is_none_or(|prefix| has_path_below(entry, prefix))
    }
}

impl ResultCriterion {
    fn matches(&self, result: &AuditResult) -> bool {
        match (self, result) {
            (Self::Ok, AuditResult::Ok) | (Self::AnyError, AuditResult::Error(_)) => true,
            (Self::ErrorTag(wanted), AuditResult::Error(tag)) => wanted == tag,
            _ => false,
        }
    }
}

fn has_path_below(entry: &AuditEntry, prefix: &str) -> bool {
    entry.paths_omitted > 0 || entry.paths.iter().any(|path| is_below(path, prefix))
}

/// Whether `path` is `prefix` or below it. The next step, or the keys of the last one, may follow.
fn is_below(path: &str, prefix: &str) -> bool {
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    match path.strip_prefix(prefix) {
        Some(rest) => rest.is_empty() || rest.starts_with(['/', '[']) || rest == TRUNCATION_MARK,
        None => path
            .strip_suffix(TRUNCATION_MARK)
            .is_some_and(|start| prefix.starts_with(start)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_prefix_ends_at_a_step() {
        for (path, prefix, expected) in [
            ("/m:a/b", "/m:a", true),
            ("/m:a/b", "/m:a/", true),
            ("/m:a/b", "/", true),
            ("/m:a/b[k='1']/c", "/m:a/b", true),
            ("/m:a/b[k='1']/c", "/m:a/b[k='1']", true),
            ("/m:a/bc", "/m:a/b", false),
            ("/m:a", "/m:a/b", false),
            ("/m:a/lo…", "/m:a/long", true),
            ("/m:a/lo…", "/m:a/lo", true),
            ("/m:a/lo…", "/m:a/other", false),
        ] {
            assert_eq!(is_below(path, prefix), expected, "{path} below {prefix}");
        }
    }
}
