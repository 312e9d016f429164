//! The function library: XPath 1.0 §4 and RFC 7950 §10.

use serde::{Deserialize, Serialize};

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Function {
    Last,
    Position,
    Count,
    Id,
    LocalName,
    NamespaceUri,
    Name,
    String,
    Concat,
    StartsWith,
    Contains,
    SubstringBefore,
    SubstringAfter,
    Substring,
    StringLength,
    NormalizeSpace,
    Translate,
    Boolean,
    Not,
    True,
    False,
    Lang,
    Number,
    Sum,
    Floor,
    Ceiling,
    Round,
    Current,
    ReMatch,
    Deref,
    DerivedFrom,
    DerivedFromOrSelf,
    EnumValue,
    BitIsSet,
}

/// A function, its name, and its minimum and maximum number of arguments.
type Signature = (Function, &'static str, usize, usize);

/// In the order of [`Function`].
const SIGNATURES: [Signature; 34] = [
    (Function::Last, "last", 0, 0),
    (Function::Position, "position", 0, 0),
    (Function::Count, "count", 1, 1),
    (Function::Id, "id", 1, 1),
    (Function::LocalName, "local-name", 0, 1),
    (Function::NamespaceUri, "namespace-uri", 0, 1),
    (Function::Name, "name", 0, 1),
    (Function::String, "string", 0, 1),
    (Function::Concat, "concat", 2, usize::MAX),
    (Function::StartsWith, "starts-with", 2, 2),
    (Function::Contains, "contains", 2, 2),
    (Function::SubstringBefore, "substring-before", 2, 2),
    (Function::SubstringAfter, "substring-after", 2, 2),
    (Function::Substring, "substring", 2, 3),
    (Function::StringLength, "string-length", 0, 1),
    (Function::NormalizeSpace, "normalize-space", 0, 1),
    (Function::Translate, "translate", 3, 3),
    (Function::Boolean, "boolean", 1, 1),
    (Function::Not, "not", 1, 1),
    (Function::True, "true", 0, 0),
    (Function::False, "false", 0, 0),
    (Function::Lang, "lang", 1, 1),
    (Function::Number, "number", 0, 1),
    (Function::Sum, "sum", 1, 1),
    (Function::Floor, "floor", 1, 1),
    (Function::Ceiling, "ceiling", 1, 1),
    (Function::Round, "round", 1, 1),
    (Function::Current, "current", 0, 0),
    (Function::ReMatch, "re-match", 2, 2),
    (Function::Deref, "deref", 1, 1),
    (Function::DerivedFrom, "derived-from", 2, 2),
    (Function::DerivedFromOrSelf, "derived-from-or-self", 2, 2),
    (Function::EnumValue, "enum-value", 1, 1),
    (Function::BitIsSet, "bit-is-set", 2, 2),
];

impl Function {
    /// The function with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let found = SIGNATURES.iter().find(|(_, known, ..)| *known == name);
        found.map(|&(function, ..)| function)
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        SIGNATURES[self as usize].1
    }

    /// The minimum and maximum number of arguments.
    pub fn arity(self) -> (usize, usize) {
        let (_, _, least, most) = SIGNATURES[self as usize];
        (least, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_has_its_own_signature() {
        for (index, (function, name, ..)) in SIGNATURES.iter().enumerate() {
            assert_eq!(*function as usize, index, "{name}");
            assert_eq!(Function::from_name(name), Some(*function));
        }
    }
}
