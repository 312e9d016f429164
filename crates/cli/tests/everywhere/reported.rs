//! Errors and results of the product, in the form that is compared.

use espalier_store::{Commit, Error, Reported};
use espalier_testkit::everywhere::{Outcome, ReportedError};
use espalier_yang::{DataError, Errors};
use serde_json::{Value as Json, json};

/// The outcome of an error of the library.
pub fn failure(error: Error) -> Outcome {
    failures(&Reported::from(error).errors)
}

/// The outcome of several errors.
pub fn failures(errors: &Errors) -> Outcome {
    Outcome::Failure(errors.iter().map(reported).collect())
}

/// One error.
fn reported(error: &DataError) -> ReportedError {
    ReportedError {
        kind: error.kind.as_str().to_owned(),
        tag: error.tag.as_str().to_owned(),
        app_tag: error.app_tag.as_ref().map(ToString::to_string),
        path: Some(error.path.clone()).filter(|path| !path.is_empty()),
        message: error.message.clone(),
        info: match error.info() {
            info if info.is_empty() => Json::Null,
            info => info.to_json(),
        },
        line: Some(error.line).filter(|line| *line > 0),
    }
}

/// An error in the JSON form of RFC 8040 §7.1, or of `--json`.
pub fn from_json(error: &Json) -> ReportedError {
    let text = |name: &str| error[name].as_str().map(str::to_owned);
    let message = text("error-message").unwrap_or_default();
    // The body of RFC 8040 has no member for the line, so the message begins with it.
    let split = message
        .strip_prefix("line ")
        .and_then(|rest| rest.split_once(": "));
    let (line, message) = match split.map(|(line, rest)| (line.parse().ok(), rest.to_owned())) {
        Some((Some(line), rest)) => (Some(line), rest),
        _ => (None, message),
    };
    ReportedError {
        kind: text("error-type").unwrap_or_default(),
        tag: text("error-tag").unwrap_or_default(),
        app_tag: text("error-app-tag"),
        path: text("error-path"),
        message,
        info: error["error-info"].clone(),
        line: line.or_else(|| error["line"].as_u64().and_then(|line| line.try_into().ok())),
    }
}

/// The outcome of a commit.
pub fn committed(commit: Option<Commit>, base: u64) -> Outcome {
    changed(
        commit.map(|commit| commit.version),
        commit.map(|commit| commit.is_changed),
        base,
    )
}

/// The outcome of a change, with the version relative to the start of the case. Only running has that start.
pub fn changed(version: Option<u64>, is_changed: Option<bool>, base: u64) -> Outcome {
    let version = version.map(|version| relative(version, base));
    Outcome::Success(json!({"version": version, "changed": is_changed}))
}

/// A version, relative to the start of the case. That of a datastore other than running may be before it.
pub fn relative(version: u64, base: u64) -> i64 {
    version.wrapping_sub(base).cast_signed()
}

/// XML without the white space between its elements.
pub fn compact(xml: &str) -> Json {
    let lines: String = xml.lines().map(str::trim).collect();
    Json::String(lines)
}
