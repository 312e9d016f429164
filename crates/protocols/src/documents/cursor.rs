//! The position after a page, encoded as text that clients return.

use espalier_documents::Value;
use serde_json::{Value as Json, json};

use super::parsed_request::Call;
use super::problem::{Problem, Result};

/// The position after a document, in key order or in the order of an index.
pub(super) struct Cursor {
    /// A hash of the query that the cursor belongs to.
    query_hash: u64,
    pub(super) key: u64,
    pub(super) value: Option<CursorValue>,
}

/// The index value at which a page ended.
pub(super) enum CursorValue {
    /// The value itself.
    Value(Value),
    /// The mark of a value that is too long for a header or URL.
    Mark(Vec<u8>),
}

impl CursorValue {
    /// The mark of the value.
    pub(super) fn mark(&self) -> &[u8] {
        match self {
            Self::Value(value) => value.mark(),
            Self::Mark(mark) => mark,
        }
    }
}

impl From<Value> for CursorValue {
    fn from(value: Value) -> Self {
        match value.is_long() {
            true => Self::Mark(value.mark().to_vec()),
            false => Self::Value(value),
        }
    }
}

/// The parameters that may differ between pages of the same query.
const PAGE_PARAMETERS: [&str; 3] = ["cursor", "limit", "offset"];

/// A hash of the query, equal for all its pages.
fn query_hash(call: &Call<'_>) -> u64 {
    let parameters = call.query.iter();
    let mut query_parameters: Vec<_> = parameters
        .filter(|(name, _)| !PAGE_PARAMETERS.contains(&name.as_str()))
        .collect();
    query_parameters.sort();
    // FNV-1a: collisions give a client no advantage.
    let text = json!([call.path, query_parameters]).to_string();
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl Cursor {
    /// The position after a key, and after this value in the order of an index.
    pub(super) fn after(call: &Call<'_>, key: u64, value: Option<Value>) -> Self {
        Self {
            query_hash: query_hash(call),
            key,
            value: value.map(CursorValue::from),
        }
    }

    /// Encodes the cursor.
    pub(super) fn text(&self) -> String {
        let (query_hash, key) = (self.query_hash, self.key);
        let text = match &self.value {
            None => json!([query_hash, key, null]),
            Some(CursorValue::Value(value)) => json!([query_hash, key, value.to_json()]),
            Some(CursorValue::Mark(mark)) => {
                json!([query_hash, key, { "mark": hexadecimal(mark) }])
            }
        };
        hexadecimal(text.to_string().as_bytes())
    }

    /// Decodes the cursor of a request. It must belong to the same query.
    pub(super) fn of(call: &Call<'_>) -> Result<Option<Self>> {
        let Some(text) = call.parameter("cursor") else {
            return Ok(None);
        };
        let cursor = Self::read(text).ok_or_else(|| {
            Problem::request(format!(
                "cursor={text:?} is invalid: use the value of `next`"
            ))
        })?;
        if cursor.query_hash != query_hash(call) {
            let detail = "the cursor belongs to another query: repeat the other parameters of the page that returned it";
            return Err(Problem::request(detail));
        }
        Ok(Some(cursor))
    }

    fn read(text: &str) -> Option<Self> {
        let (query_hash, key, value): (u64, u64, Option<Json>) =
            serde_json::from_slice(&bytes(text)?).ok()?;
        let value = match value {
            Some(Json::Object(marked)) => {
                Some(CursorValue::Mark(bytes(marked.get("mark")?.as_str()?)?))
            }
            Some(value) => Some(CursorValue::Value(Value::try_from(&value).ok()?)),
            None => None,
        };
        Some(Self {
            query_hash,
            key,
            value,
        })
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Decodes hexadecimal digits.
fn bytes(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).ok();
    (0..text.len()).step_by(2).map(byte).collect()
}
