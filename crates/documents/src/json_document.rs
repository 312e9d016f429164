//! Documents of any shape, as text.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;
use serde_json::value::{RawValue, to_raw_value};

/// A document of any shape, as its JSON text: what a collection stores. In a cache it takes a third of the memory of
/// a [`serde_json::Value`], and it is written to a client without parsing it.
///
/// ```
/// # use espalier_documents::JsonDocument;
/// # use serde_json::json;
/// let mut car = JsonDocument::from(json!({"name": "Corvet-1"}));
/// car.edit(|car| car["color"] = "red".into());
/// assert_eq!(car.as_str(), r#"{"name":"Corvet-1","color":"red"}"#);
/// ```
#[derive(Clone, Debug)]
pub struct JsonDocument {
    /// A text that can be parsed as [`Json`].
    text: Box<RawValue>,
}

impl JsonDocument {
    /// The text.
    pub fn as_str(&self) -> &str {
        self.text.get()
    }

    /// The document as a tree.
    pub fn to_json(&self) -> Json {
        // The text was made from a tree, or parsed when the document was read.
        serde_json::from_str(self.as_str()).unwrap_or_default()
    }

    /// Changes the document as a tree.
    pub fn edit(&mut self, change: impl FnOnce(&mut Json)) {
        let mut json = self.to_json();
        change(&mut json);
        *self = json.into();
    }
}

impl From<Json> for JsonDocument {
    fn from(json: Json) -> Self {
        Self::from(&json)
    }
}

impl From<&Json> for JsonDocument {
    fn from(json: &Json) -> Self {
        // Writing a tree to memory does not fail: its keys are strings.
        let text = to_raw_value(json).unwrap_or_else(|_| RawValue::NULL.to_owned());
        Self { text }
    }
}

/// Equal if the texts are equal.
impl PartialEq for JsonDocument {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl fmt::Display for JsonDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for JsonDocument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for JsonDocument {
    /// From the formats of `serde_json` only.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        // A text can be well-formed and still have no tree: numbers out of range, unpaired surrogates.
        let json = serde_json::from_str::<Json>(text.get()).map_err(serde::de::Error::custom)?;
        // Exports and feeds have a document on one line.
        Ok(match text.get().contains(['\n', '\r']) {
            true => Self::from(json),
            false => Self { text },
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_text_is_kept_as_it_is() {
        for text in [
            r#"{"a": 1.50, "b":[true,null]}"#,
            "18446744073709551616",
            r#""\u00e9""#,
            "null",
        ] {
            let document: JsonDocument = serde_json::from_str(text).expect(text);
            assert_eq!(serde_json::to_string(&document).expect(text), text);
            let json: Json = serde_json::from_str(text).expect(text);
            assert_eq!(document.to_json(), json);
            assert_eq!(
                serde_json::from_value::<JsonDocument>(json.clone())
                    .expect(text)
                    .to_json(),
                json
            );
            assert_eq!(serde_json::to_value(&document).expect(text), json);
        }
    }

    #[test]
    fn a_document_is_one_line() {
        let document: JsonDocument = serde_json::from_str("{\r\n \"a\": 1\n}").expect("JSON");
        assert_eq!(document.as_str(), r#"{"a":1}"#);
    }

    #[test]
    fn a_text_without_a_tree_is_rejected() {
        for text in [
            "1e999",
            r#""\ud800""#,
            "{",
            "nul",
            &("[".repeat(200) + &"]".repeat(200)),
        ] {
            assert!(
                serde_json::from_str::<JsonDocument>(text).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn a_document_is_edited_as_a_tree() {
        let mut document = JsonDocument::from(json!({"a": 1}));
        document.edit(|json| json["b"] = json!([2]));
        assert_eq!(document, JsonDocument::from(json!({"a": 1, "b": [2]})));
        assert_eq!(document.to_string(), r#"{"a":1,"b":[2]}"#);
    }
}
