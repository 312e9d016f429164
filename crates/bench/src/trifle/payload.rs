//! The payloads of calls.

use espalier_stats::{NestedValues, Number, PathValues};

use espalier_terminal::Result;

/// A payload of the published table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Its name in rows.
    pub name: &'static str,
    /// The JSON.
    pub json: &'static str,
    /// Whether its values are in nested objects. We have no measurement of Trifle::Stats for those.
    pub is_nested: bool,
    /// The number of values.
    pub values: usize,
}

/// The published payloads.
pub const PAYLOADS: [Payload; 4] = [
    Payload {
        name: "1 value",
        json: r#"{"a":1}"#,
        is_nested: false,
        values: 1,
    },
    Payload {
        name: "5 values",
        json: r#"{"a":1, "b":2, "c":3, "d":4, "e":5}"#,
        is_nested: false,
        values: 5,
    },
    Payload {
        name: "5 nested values",
        json: r#"{"a":1, "b":2, "c":{"d":3, "e":{"f":4, "g":5}}}"#,
        is_nested: true,
        values: 5,
    },
    Payload {
        name: "23 values",
        json: r#"{"a":1, "b":2, "c":1, "d":2, "e":1, "f":2, "g":1, "h":2, "i":1, "j":2, "k":1, "l":2, "m":1, "n":2, "o":1, "p":2, "q":1, "r":2, "s":1, "t":2, "u":1, "v":2, "w":1}"#,
        is_nested: false,
        values: 23,
    },
];

impl Payload {
    /// The values.
    pub fn packed(self) -> Result<PathValues> {
        Ok(NestedValues::from_json(self.json)?.pack()?)
    }

    /// The values with `more` added to each.
    pub fn raised(self, more: u64) -> Result<PathValues> {
        let mut raised = PathValues::new();
        for (path, number) in self.packed()?.iter() {
            raised.set(path.clone(), *number);
            raised.add(&PathValues::one(path.clone(), Number::from(more)))?;
        }
        Ok(raised)
    }
}
