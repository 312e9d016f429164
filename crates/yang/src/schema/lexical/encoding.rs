//! What JSON wants for each type (RFC 7951 §6).

use crate::schema::{IntegerWidth, TypeKind};

/// A JSON value that a leaf may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonScalar<'a> {
    /// A string, unescaped.
    String(&'a str),
    /// A number, as the document has it.
    Number(&'a str),
    /// `true` or `false`.
    Boolean(bool),
    /// `[null]`.
    EmptyArray,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// As text, whatever the type.
    Text,
    /// As text, in a `default` statement.
    ModelDefault,
    JsonString,
    JsonNumber,
    JsonBoolean,
    JsonEmpty,
}

impl Encoding {
    /// Whether values of this type are written so.
    pub(super) fn suits(self, kind: &TypeKind) -> bool {
        match self {
            Self::Text | Self::ModelDefault => true,
            _ => match kind {
                // It is up to the type they stand for.
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

    /// What stands in the document, for messages.
    pub(super) fn article_and_name(self) -> &'static str {
        match self {
            Self::Text | Self::ModelDefault => "a text",
            Self::JsonString => "a JSON string",
            Self::JsonNumber => "a JSON number",
            Self::JsonBoolean => "a JSON boolean",
            Self::JsonEmpty => "[null]",
        }
    }

    /// What JSON wants for this type, for messages.
    pub(super) fn wanted(kind: &TypeKind) -> &'static str {
        let encodings = [
            Self::JsonString,
            Self::JsonNumber,
            Self::JsonBoolean,
            Self::JsonEmpty,
        ];
        encodings
            .into_iter()
            .find(|encoding| encoding.suits(kind))
            .map_or("a text", Self::article_and_name)
    }
}
