//! JSON output: `{"at": [...], "values": [...]}` with times and nested values; and settings.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Calendar, Error, NestedValues, Point, Result, Settings, SystemMetric};

#[derive(Serialize)]
struct Document {
    at: Vec<String>,
    values: Vec<NestedValues>,
}

/// Points as a JSON document, with times in the calendar's time zone.
pub fn json(points: &[Point], calendar: &Calendar) -> Result<String> {
    let at = points.iter().map(|point| calendar.show_time(point.at));
    let values = points
        .iter()
        .map(|point| NestedValues::unpack(&point.values));
    let document = Document {
        at: at.collect(),
        values: values.collect(),
    };
    serde_json::to_string(&document).map_err(|error| Error::argument(error.to_string()))
}

/// Settings as JSON, with retention in seconds.
pub fn settings_json(settings: &Settings) -> serde_json::Value {
    let granularities = settings.granularities.iter().map(ToString::to_string);
    let retention = settings.retention.iter();
    let retention = retention.map(|(granularity, seconds)| (granularity.to_string(), *seconds));
    serde_json::json!({
        "time-zone": settings.time_zone,
        "week-begins": settings.week_begins.as_str(),
        "granularities": granularities.collect::<Vec<_>>(),
        "retention": retention.collect::<BTreeMap<_, _>>(),
        "list-active": settings.system == SystemMetric::Written,
    })
}
