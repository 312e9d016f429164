//! Where a page ended, as text that clients give back.

use espalier_documents::Value;
use serde_json::{Value as Json, json};

use super::call::Call;
use super::problem::{Problem, Result};

/// The place after a document in the order of keys, or of an index.
pub(super) struct Cursor {
    /// Names the query that it is a place in.
    query: u64,
    pub(super) key: u64,
    pub(super) value: Option<Place>,
}

/// The value at which a page ended.
pub(super) enum Place {
    /// The value itself.
    Value(Value),
    /// The mark of a value that is too long for a header or a URL.
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

/// The parameters that may differ from page to page.
const OF_PAGES: [&str; 3] = ["cursor", "limit", "offset"];

/// Names the query of a request: the same for all its pages, another for another query.
fn query(call: &Call<'_>) -> u64 {
    let parameters = call.query.iter();
    let mut asked: Vec<_> = parameters
        .filter(|(name, _)| !OF_PAGES.contains(&name.as_str()))
        .collect();
    asked.sort();
    // FNV-1a: nobody gains anything by a clash.
    let text = json!([call.path, asked]).to_string();
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl Cursor {
    /// The place after this key, and after this value where the order is that of an index.
    pub(super) fn after(call: &Call<'_>, key: u64, value: Option<Value>) -> Self {
        Self {
            query: query(call),
            key,
            value: value.map(Place::from),
        }
    }

    /// The text.
    pub(super) fn text(&self) -> String {
        let (query, key) = (self.query, self.key);
        let text = match &self.value {
            None => json!([query, key, null]),
            Some(Place::Value(value)) => json!([query, key, value.to_json()]),
            Some(Place::Mark(mark)) => json!([query, key, { "mark": hexadecimal(mark) }]),
        };
        hexadecimal(text.to_string().as_bytes())
    }

    /// The place that a request names, which has to be one of its own query.
    pub(super) fn of(call: &Call<'_>) -> Result<Option<Self>> {
        let Some(text) = call.parameter("cursor") else {
            return Ok(None);
        };
        let cursor = Self::read(text).ok_or_else(|| {
            Problem::request(format!(
                "cursor={text:?}: give back what `next` of a page says"
            ))
        })?;
        if cursor.query != query(call) {
            let detail = "the cursor is of another query: the other parameters have to be those of the page that it came with";
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

/// The bytes that hexadecimal digits stand for.
fn bytes(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).ok();
    (0..text.len()).step_by(2).map(byte).collect()
}
