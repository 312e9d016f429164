//! JSON lines: one write per line, in the format of a request (`POST /stats/writes`).
//!
//! `{"metric":"orders","at":"2025-03-05T12:00:00Z","values":{"count":1}}`; a line without an `action` is a
//! `track`.

use crate::json_write::{JsonWrite, Verb};
use crate::{Calendar, Error, Result, Timestamp, Write};

pub(super) fn writes(line: &str, at: Timestamp, calendar: &Calendar) -> Result<Vec<Write>> {
    // Serde accepts an array as a struct with members in order.
    if !line.starts_with('{') {
        return Err(Error::syntax("the line is not a JSON object"));
    }
    let parsed: JsonWrite =
        serde_json::from_str(line).map_err(|error| Error::syntax(error.to_string()))?;
    if parsed.id.is_some() {
        return Err(Error::argument(
            "a line cannot have an id; give the import one",
        ));
    }
    let verb = parsed.action.unwrap_or(Verb::Track);
    let write = parsed.write(verb, calendar, at)?;
    write.metric.check()?;
    Ok(vec![write])
}
