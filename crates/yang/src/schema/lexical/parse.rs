//! The entry points, and the dispatch by type.

use super::encoding::{Encoding, JsonScalar};
use super::mismatch::{Mismatch, ValueError};
use super::names::OtherModules;
use super::{canonical, names, number, text};
use crate::schema::{Canonical, Namespaces, Schema, Type, TypeKind};
use crate::value::Value;

/// A text to parse, with its context.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub(super) schema: &'a Schema,
    pub(super) namespaces: &'a dyn Namespaces,
    pub(super) text: &'a str,
    pub(super) encoding: Encoding,
}

impl Type {
    /// Parses a text to a value in canonical form. The text is that of an XML element, of a key in a path, or of a
    /// command line, where every type is written as text.
    ///
    /// Does not check whether the target of a leafref or instance-identifier exists.
    pub fn parse(
        &self,
        schema: &Schema,
        text: &str,
        namespaces: &dyn Namespaces,
    ) -> Result<Value, ValueError> {
        self.parse_encoded(schema, text, namespaces, Encoding::Text)
    }

    /// Parses a JSON scalar to a value in canonical form. RFC 7951 §6 defines which types are numbers, strings,
    /// `true` and `false`, or `[null]`; another encoding is an error.
    pub fn parse_json(
        &self,
        schema: &Schema,
        scalar: JsonScalar<'_>,
        namespaces: &dyn Namespaces,
    ) -> Result<Value, ValueError> {
        match scalar {
            JsonScalar::String(text) => {
                self.parse_encoded(schema, text, namespaces, Encoding::JsonString)
            }
            JsonScalar::Number(text) => {
                self.parse_encoded(schema, text, namespaces, Encoding::JsonNumber)
            }
            JsonScalar::Boolean(value) => {
                let text = if value { "true" } else { "false" };
                self.parse_encoded(schema, text, namespaces, Encoding::JsonBoolean)
            }
            JsonScalar::EmptyArray => {
                self.parse_encoded(schema, "", namespaces, Encoding::JsonEmpty)
            }
        }
    }

    /// Parses the value of a `default` statement, in which integers may also be octal and hexadecimal (RFC 7950
    /// §9.2.1).
    pub(in crate::schema) fn parse_default(
        &self,
        schema: &Schema,
        text: &str,
        namespaces: &dyn Namespaces,
    ) -> Result<Value, ValueError> {
        self.parse_encoded(schema, text, namespaces, Encoding::ModelDefault)
    }

    fn parse_encoded(
        &self,
        schema: &Schema,
        text: &str,
        namespaces: &dyn Namespaces,
        encoding: Encoding,
    ) -> Result<Value, ValueError> {
        let input = Input {
            schema,
            namespaces,
            text,
            encoding,
        };
        self.value(input)
            .map_err(|mismatch| mismatch.into_error(self, text, encoding))
    }

    fn value<'t>(&'t self, input: Input<'_>) -> Result<Value, Mismatch<'t>> {
        if !input.encoding.accepts(&self.kind) {
            return Err(Mismatch::Encoding);
        }
        match &self.kind {
            TypeKind::String(length, patterns) => match self.canonical {
                Canonical::XPath | Canonical::NodeInstanceIdentifier => {
                    text::check(input.text, length, patterns)?;
                    let others = match self.canonical {
                        Canonical::NodeInstanceIdentifier => OtherModules::Accepted,
                        _ => OtherModules::Unknown,
                    };
                    names::expression(input, others)
                }
                canonical => canonical::string(canonical, input.text, length, patterns),
            },
            TypeKind::Integer(width, range) => number::integer(input, *width, range),
            TypeKind::Enumeration(items) => names::enumeration(input.text, items),
            TypeKind::Boolean => match input.text {
                "true" => Ok(Value::Boolean(true)),
                "false" => Ok(Value::Boolean(false)),
                _ => Err(Mismatch::Malformed),
            },
            TypeKind::Union(members) => members
                .iter()
                .find_map(|member| member.value(input).ok())
                .ok_or(Mismatch::NoMember),
            TypeKind::LeafRef { target_type, .. } => target_type.value(input),
            TypeKind::IdentityRef(bases) => names::identity(input, bases),
            TypeKind::Decimal64(digits, range) => number::decimal(input.text, *digits, range),
            TypeKind::Empty if input.text.is_empty() => Ok(Value::Empty),
            TypeKind::Empty => Err(Mismatch::Malformed),
            TypeKind::Binary(length) => text::binary(input.text, length),
            TypeKind::Bits(bits) => names::bits(input.text, bits),
            TypeKind::InstanceIdentifier { root, .. } => names::instance_identifier(input, *root),
        }
    }
}
