//! Changes of the settings of event logs.

use espalier_store::{Error, EventSettings, Result};
use espalier_yang::ErrorTag;
use serde_json::Value as Json;

use crate::merge_patch;

/// Settings, changed by a JSON Merge Patch (RFC 7396) of their JSON.
///
/// # Errors
/// `invalid-value` for members or values that there are not.
pub(crate) fn patched(settings: &EventSettings, patch: &Json) -> Result<EventSettings> {
    let invalid = |reason: String| {
        let message = format!("these are no settings of the event log: {reason}");
        Error::data(ErrorTag::InvalidValue, message)
    };
    let changed = merge_patch::patched(settings, patch).map_err(invalid)?;
    let limits = [
        changed.records_max,
        changed.bytes_max,
        changed.age_seconds_max,
    ];
    if limits.contains(&0) || changed.format != settings.format {
        let reason = "records-max, bytes-max and age-seconds-max are at least 1";
        return Err(invalid(reason.to_owned()));
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_changes_what_it_names_and_nothing_unknown() {
        let settings = EventSettings::default();
        let changed = patched(&settings, &json!({"records-max": 5})).unwrap();
        let expected = EventSettings {
            records_max: 5,
            ..settings.clone()
        };
        assert_eq!(changed, expected);
        for wrong in [
            json!({"records-max": 0}),
            json!({"age-seconds-max": null}),
            json!({"module-streams": "yes"}),
            json!({"colour": "red"}),
            json!({"format": 2}),
            json!([]),
        ] {
            assert!(patched(&settings, &wrong).is_err(), "{wrong}");
        }
    }
}
