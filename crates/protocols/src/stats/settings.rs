//! The settings of statistics.

use std::collections::BTreeMap;

use axum::body::Body;
use espalier_stats::output::settings_json;
use espalier_stats::{Granularity, SystemMetric};
use http::{Response, StatusCode};
use serde::Deserialize;
use serde_json::Value as Json;

use super::asked::Call;
use super::problem::{Problem, Result};
use crate::api::json as answer;

/// The requested changes; absent members remain unchanged.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Wanted {
    time_zone: Option<String>,
    week_begins: Option<String>,
    granularities: Option<Vec<String>>,
    /// Seconds; null means unlimited.
    retention: Option<BTreeMap<String, Option<u64>>>,
    list_active: Option<bool>,
}

pub(super) fn get(call: &Call<'_>) -> Result<Response<Body>> {
    Ok(answer(
        StatusCode::OK,
        &settings_json(&call.service.settings()),
    ))
}

/// Rejects null for mandatory settings: in a merge patch, it removes a member.
fn check_nulls(patch: &Json) -> Result<()> {
    let members = patch.as_object().into_iter().flatten();
    let mut nulls = members.filter(|(name, value)| value.is_null() && *name != "retention");
    match nulls.next() {
        Some((name, _)) => {
            let detail = format!("{name} cannot be removed; give a value");
            Err(Problem::request(detail))
        }
        None => Ok(()),
    }
}

pub(super) fn patch(call: &Call<'_>) -> Result<Response<Body>> {
    let patch = call.merge_patch()?;
    check_nulls(&patch)?;
    let wanted: Wanted = call.raw_object()?;
    let mut chosen = call.service.settings();
    if patch.get("retention").is_some_and(Json::is_null) {
        chosen.retention.clear();
    }
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
        for (text, seconds) in retention {
            let granularity: Granularity = text.parse()?;
            match seconds {
                Some(seconds) => chosen.retention.insert(granularity, seconds),
                None => chosen.retention.remove(&granularity),
            };
        }
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
