//! `{"at": [...], "values": [...]}`: times, and for each the values under their names.

use serde::Serialize;

use crate::{Calendar, Error, Nested, Point, Result};

#[derive(Serialize)]
struct Document {
    at: Vec<String>,
    values: Vec<Nested>,
}

/// Points as a JSON document, with times as they are in its time zone.
pub fn json(points: &[Point], calendar: &Calendar) -> Result<String> {
    let at = points.iter().map(|point| calendar.show_time(point.at));
    let values = points.iter().map(|point| Nested::unpack(&point.values));
    let document = Document {
        at: at.collect(),
        values: values.collect(),
    };
    serde_json::to_string(&document).map_err(|error| Error::argument(error.to_string()))
}
