//! Settings that are changed by a JSON Merge Patch (RFC 7396).

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

/// Settings, changed by a patch of their JSON.
///
/// # Errors
/// The message for members or values that there are not.
pub(crate) fn patched<T: Serialize + DeserializeOwned>(
    settings: &T,
    patch: &Json,
) -> Result<T, String> {
    let text = |error: serde_json::Error| error.to_string();
    let mut merged = serde_json::to_value(settings).map_err(text)?;
    merge(&mut merged, patch);
    let changed: T = serde_json::from_value(merged.clone()).map_err(text)?;
    match serde_json::to_value(&changed).map_err(text)? == merged {
        true => Ok(changed),
        false => {
            let known = serde_json::to_string(settings).map_err(text)?;
            Err(format!("the settings at present are {known}"))
        }
    }
}

fn merge(target: &mut Json, patch: &Json) {
    match (target, patch) {
        (Json::Object(target), Json::Object(patch)) => {
            for (name, value) in patch {
                merge(target.entry(name).or_insert(Json::Null), value);
            }
        }
        (target, patch) => *target = patch.clone(),
    }
}
