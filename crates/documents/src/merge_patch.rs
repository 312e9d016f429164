//! JSON Merge Patch (RFC 7396).

use serde_json::{Map, Value as Json};

/// Applies a merge patch to a document: members that are null are removed, others are set, objects are
/// merged. RFC 7396 §2.
pub fn merge_patch(document: &mut Json, patch: &Json) {
    let Json::Object(patch) = patch else {
        *document = patch.clone();
        return;
    };
    if !document.is_object() {
        *document = Json::Object(Map::new());
    }
    let Json::Object(members) = document else {
        return;
    };
    for (name, value) in patch {
        if value.is_null() {
            members.shift_remove(name);
        } else {
            merge_patch(members.entry(name.clone()).or_insert(Json::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_rfc_7396_give_the_expected_results() {
        let cases = [
            (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
            (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
            (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
            (
                r#"{"a":{"b":"c"}}"#,
                r#"{"a":{"b":"d","c":null}}"#,
                r#"{"a":{"b":"d"}}"#,
            ),
            (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
            (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
            (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
            (r#"{"a":"foo"}"#, "null", "null"),
            (r#"{"a":"foo"}"#, r#""bar""#, r#""bar""#),
            (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
            ("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
            ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
        ];
        for (document, patch, expected) in cases {
            let read = |text: &str| -> Json { serde_json::from_str(text).expect(text) };
            let mut changed = read(document);
            merge_patch(&mut changed, &read(patch));
            assert_eq!(changed, read(expected), "{document} {patch}");
        }
    }
}
