//! JSON lines: a write each, as a request has it (`POST /stats/writes`).
//!
//! `{"metric":"orders","at":"2025-03-05T12:00:00Z","values":{"count":1}}`; a line without an `action` is
//! a `track`.

use crate::json_write::{JsonWrite, Verb};
use crate::{Calendar, Error, Result, Timestamp, Write};

pub(super) fn writes(line: &str, at: Timestamp, calendar: &Calendar) -> Result<Vec<Write>> {
    // Serde would take an array for an object whose members have no names.
    if !line.starts_with('{') {
        return Err(Error::syntax("it is no JSON object"));
    }
    let said: JsonWrite =
        serde_json::from_str(line).map_err(|error| Error::syntax(error.to_string()))?;
    if said.id.is_some() {
        return Err(Error::argument(
            "the id is that of the import, not of a line",
        ));
    }
    let verb = said.action.unwrap_or(Verb::Track);
    let write = said.write(verb, calendar, at)?;
    write.metric.check()?;
    Ok(vec![write])
}
