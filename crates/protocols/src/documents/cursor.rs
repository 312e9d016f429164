//! The position after a page, encoded as text that clients return.

use espalier_documents::Value;
use serde_json::{Value as Json, json};

use super::call::Call;
use super::problem::{Problem, Result};

/// The position after a document, in key order or in the order of an index.
pub(super) struct Cursor {
    /// A hash of the query that the cursor belongs to.
    query: u64,
    pub(super) key: u64,
    pub(super) value: Option<Place>,
}

/// The index value at which a page ended.
pub(super) enum Place {
    /// The value itself.
    Value(Value),
    /// The mark of a value that is too long for a header or URL.
    Mark(Vec<u8>),
}

impl Place {
    /// The mark of the value.
    pub(super) fn mark(&self) -> &[u8] {
        match self {
            Self::Value(value) => value.mark(),
            Self::Mark(mark) => mark,
        }
    }
}

impl From<Value> for Place {
    fn from(value: Value) -> Self {
        match value.is_long() {
            true => Self::Mark(value.mark().to_vec()),
            false => Self::Value(value),
        }
    }
}

/// The parameters that may differ between pages of the same query.
const OF_PAGES: [&str; 3] = ["cursor", "limit", "offset"];

/// A hash of the query, equal for all its pages.
fn query(call: &Call<'_>) -> u64 {
    let parameters = call.query.iter();
    let mut asked: Vec<_> = parameters
        .filter(|(name, _)| !OF_PAGES.contains(&name.as_str()))
        .collect();
    asked.sort();
    // FNV-1a: collisions give a client no advantage.
    let text = json!([call.path, asked]).to_string();
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl Cursor {
    /// The position after a key, and after this value in the order of an index.
    pub(super) fn after(call: &Call<'_>, key: u64, value: Option<Value>) -> Self {
        Self {
            query: query(call),
            key,
            value: value.map(Place::from),
        }
    }

    /// Encodes the cursor.
    pub(super) fn text(&self) -> String {
        let (query, key) = (self.query, self.key);
        let text = match &self.value {
            None => json!([query, key, null]),
            Some(Place::Value(value)) => json!([query, key, value.to_json()]),
            Some(Place::Mark(mark)) => json!([query, key, { "mark": hexadecimal(mark) }]),
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
        if cursor.query != query(call) {
            let detail = "the cursor belongs to another query: repeat the other parameters of the page that returned it";
            return Err(Problem::request(detail));
        }
        Ok(Some(cursor))
    }

    fn read(text: &str) -> Option<Self> {
        let (query, key, value): (u64, u64, Option<Json>) =
            serde_json::from_slice(&bytes(text)?).ok()?;
        let value = match value {
            Some(Json::Object(marked)) => Some(Place::Mark(bytes(marked.get("mark")?.as_str()?)?)),
            Some(value) => Some(Place::Value(Value::try_from(&value).ok()?)),
            None => None,
        };
        Some(Self { query, key, value })
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
