//! Conversion of JSON to values, for documents and for queries.

use serde_json::Value as Json;

use super::Value;
use super::component::Component;
use crate::{Error, ErrorKind, Result};

/// Appends a JSON value to the components of a value.
fn append(json: &Json, value: &mut Value) -> Result<()> {
    match json {
        Json::String(text) => text.append_to(value),
        Json::Bool(truth) => truth.append_to(value),
        Json::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(unsigned), ..) => unsigned.append_to(value),
            (_, Some(signed), _) => signed.append_to(value),
            (_, _, Some(double)) => double.append_to(value),
            _ => return Err(not_indexable(json)),
        },
        Json::Null | Json::Array(_) | Json::Object(_) => return Err(not_indexable(json)),
    }
    Ok(())
}

fn not_indexable(json: &Json) -> Error {
    let what = match json {
        Json::Null => "null",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object",
        _ => "a number out of range",
    };
    let message =
        format!("{what} cannot be indexed; an indexed value is a string, a number, true or false");
    Error::new(ErrorKind::Document, message)
}

/// A value with these components.
pub(crate) fn from_json<'a>(components: impl IntoIterator<Item = &'a Json>) -> Result<Value> {
    let mut value = Value::default();
    for component in components {
        append(component, &mut value)?;
    }
    Ok(value)
}

impl TryFrom<&Json> for Value {
    type Error = Error;

    /// A string, a number or a boolean is one component; an array of these is several.
    fn try_from(json: &Json) -> Result<Self> {
        match json {
            Json::Array(components) if components.is_empty() => Err(Error::argument(
                "an empty array is not a value; a value has at least one component",
            )),
            Json::Array(components) => from_json(components),
            single => from_json([single]),
        }
    }
}
