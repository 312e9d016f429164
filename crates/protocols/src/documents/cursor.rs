//! Where a page ended, as text that clients give back.

use espalier_documents::Value;
use serde_json::{Value as Json, json};

use super::problem::{Problem, Result};

/// The place after a document in the order of keys, or of an index.
pub(super) struct Cursor {
    pub(super) key: u64,
    pub(super) value: Option<Value>,
}

impl Cursor {
    /// The text.
    pub(super) fn text(&self) -> String {
        let value = self.value.as_ref().map(Value::to_json);
        let text = json!([self.key, value]).to_string();
        text.bytes().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The place that a text names.
    pub(super) fn parse(text: &str) -> Result<Self> {
        Self::read(text).ok_or_else(|| {
            Problem::request(format!(
                "cursor={text:?}: give back what `next` of a page says"
            ))
        })
    }

    fn read(text: &str) -> Option<Self> {
        if !text.is_ascii() || !text.len().is_multiple_of(2) {
            return None;
        }
        let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).ok();
        let bytes: Option<Vec<u8>> = (0..text.len()).step_by(2).map(byte).collect();
        let (key, value): (u64, Option<Json>) = serde_json::from_slice(&bytes?).ok()?;
        let value = value
            .map(|value| Value::try_from(&value))
            .transpose()
            .ok()?;
        Some(Self { key, value })
    }
}
