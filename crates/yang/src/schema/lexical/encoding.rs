//! The JSON encoding of each type (RFC 7951 §6).

use crate::schema::{IntegerWidth, TypeKind};

/// A JSON value of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonScalar<'a> {
    /// A string, unescaped.
    String(&'a str),
    /// A number, as in the document.
    Number(&'a str),
    /// `true` or `false`.
    Boolean(bool),
    /// `[null]`.
    EmptyArray,
}

/// The encoding of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Text, for all types.
    Text,
    /// Text in a `default` statement.
    ModelDefault,
    JsonString,
    JsonNumber,
    JsonBoolean,
    JsonEmpty,
}

impl Encoding {
    /// Returns whether values of this type have this encoding.
    pub(super) fn accepts(self, kind: &TypeKind) -> bool {
        match self {
            Self::Text | Self::ModelDefault => true,
            _ => match kind {
                // The encoding of the resolved type applies.
                TypeKind::Union(_) | TypeKind::LeafRef { .. } => true,
                TypeKind::Integer(IntegerWidth::Int64 | IntegerWidth::Uint64, _) => {
                    self == Self::JsonString
                }
                TypeKind::Integer(..) => self == Self::JsonNumber,
                TypeKind::Boolean => self == Self::JsonBoolean,
                TypeKind::Empty => self == Self::JsonEmpty,
                TypeKind::Binary(_)
                | TypeKind::Bits(_)
                | TypeKind::Decimal64(..)
                | TypeKind::Enumeration(_)
                | TypeKind::IdentityRef(_)
                | TypeKind::InstanceIdentifier { .. }
                | TypeKind::String(..) => self == Self::JsonString,
            },
        }
    }

    /// The encoding that was found, for error messages.
    pub(super) fn article_and_name(self) -> &'static str {
        match self {
            Self::Text | Self::ModelDefault => "a text",
            Self::JsonString => "a JSON string",
            Self::JsonNumber => "a JSON number",
            Self::JsonBoolean => "a JSON boolean",
            Self::JsonEmpty => "[null]",
        }
    }

    /// The JSON encoding of this type, for error messages.
    pub(super) fn expected(kind: &TypeKind) -> &'static str {
        let encodings = [
            Self::JsonString,
            Self::JsonNumber,
            Self::JsonBoolean,
            Self::JsonEmpty,
        ];
        encodings
            .into_iter()
            .find(|encoding| encoding.accepts(kind))
            .map_or("a text", Self::article_and_name)
    }
}
