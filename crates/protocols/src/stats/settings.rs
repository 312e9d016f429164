//! How is counted.

use std::collections::BTreeMap;

use axum::body::Body;
use espalier_stats::output::settings_json;
use espalier_stats::{Granularity, SystemMetric};
use http::{Response, StatusCode};
use serde::Deserialize;

use super::asked::Call;
use super::problem::{Problem, Result};
use crate::api::json as answer;

/// What is to change; what is not said stays.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Wanted {
    time_zone: Option<String>,
    week_begins: Option<String>,
    granularities: Option<Vec<String>>,
    /// Seconds; all that is kept for a time.
    retention: Option<BTreeMap<String, u64>>,
    list_active: Option<bool>,
}

pub(super) fn get(call: &Call<'_>) -> Result<Response<Body>> {
    Ok(answer(
        StatusCode::OK,
        &settings_json(&call.service.settings()),
    ))
}

pub(super) fn patch(call: &Call<'_>) -> Result<Response<Body>> {
    let wanted: Wanted = serde_json::from_slice(&call.body)
        .map_err(|error| Problem::request(format!("the settings: {error}")))?;
    let mut chosen = call.service.settings();
    if let Some(zone) = wanted.time_zone {
        chosen.time_zone = zone;
    }
    if let Some(day) = wanted.week_begins {
        chosen.week_begins = day.parse()?;
    }
    if let Some(granularities) = wanted.granularities {
        let read = granularities.iter().map(|text| text.parse::<Granularity>());
        chosen.granularities = read.collect::<espalier_stats::Result<_>>()?;
    }
    if let Some(retention) = wanted.retention {
        let read = retention
            .iter()
            .map(|(text, seconds)| Ok((text.parse()?, *seconds)));
        chosen.retention = read.collect::<espalier_stats::Result<_>>()?;
    }
    if let Some(is_listed) = wanted.list_active {
        chosen.system = match is_listed {
            true => SystemMetric::Written,
            false => SystemMetric::Off,
        };
    }
    call.service.configure(chosen)?;
    get(call)
}
