//! The settings of statistics.

use std::collections::BTreeMap;

use axum::body::Body;
use espalier_service::access::Resource;
use espalier_stats::output::settings_json;
use espalier_stats::{Granularity, SystemMetric};
use http::{Response, StatusCode};
use serde::Deserialize;
use serde_json::Value as Json;

use super::parsed_request::Call;
use super::problem::{Problem, Result};
use crate::api::json_response;

/// The requested changes; absent members remain unchanged.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SettingsChange {
    time_zone: Option<String>,
    week_begins: Option<String>,
    granularities: Option<Vec<String>>,
    /// Seconds; null means unlimited.
    retention: Option<BTreeMap<String, Option<u64>>>,
    list_active: Option<bool>,
}

pub(super) fn get(call: &Call<'_>) -> Result<Response<Body>> {
    call.require_read(Resource::StatisticsSettings)?;
    Ok(json_response(
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
    call.require_change(Resource::StatisticsSettings)?;
    let patch = call.merge_patch()?;
    check_nulls(&patch)?;
    let change: SettingsChange = call.raw_object()?;
    let mut settings = call.service.settings();
    if patch.get("retention").is_some_and(Json::is_null) {
        settings.retention.clear();
    }
    if let Some(zone) = change.time_zone {
        settings.time_zone = zone;
    }
    if let Some(day) = change.week_begins {
        settings.week_begins = day.parse()?;
    }
    if let Some(granularities) = change.granularities {
        let read = granularities.iter().map(|text| text.parse::<Granularity>());
        settings.granularities = read.collect::<espalier_stats::Result<_>>()?;
    }
    if let Some(retention) = change.retention {
        for (text, seconds) in retention {
            let granularity: Granularity = text.parse()?;
            match seconds {
                Some(seconds) => settings.retention.insert(granularity, seconds),
                None => settings.retention.remove(&granularity),
            };
        }
    }
    if let Some(is_listed) = change.list_active {
        settings.system = match is_listed {
            true => SystemMetric::Written,
            false => SystemMetric::Off,
        };
    }
    call.service.configure(settings)?;
    get(call)
}
