//! JSON output of numbers: with all digits, never converted to a float.

use serde::{Serialize, Serializer, ser::Error as _};
use serde_json::value::RawValue;

use super::value::Number;

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = RawValue::from_string(self.to_string()).map_err(S::Error::custom)?;
        text.serialize(serializer)
    }
}
